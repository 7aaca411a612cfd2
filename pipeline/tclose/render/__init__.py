"""What people read: tables and pictures."""
