"""What the files of the input are: their digests and columns, by which a release is named."""
