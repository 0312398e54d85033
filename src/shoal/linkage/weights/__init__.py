"""What agreement is worth: Fellegi–Sunter weights, fitted by EM."""
