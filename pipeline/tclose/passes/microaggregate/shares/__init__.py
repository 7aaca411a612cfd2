"""What classes release of categories, so that all values keep their shares."""
