"""What tests of Gatepost, and of what is built on it, stand on."""
