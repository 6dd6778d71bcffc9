"""What goes wrong in the world: signals, long runs."""
