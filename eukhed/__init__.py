"""Long-lived sessions that outlive the processes they are made of."""
