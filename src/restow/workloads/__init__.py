"""What controllers create and delete, and when: functions of a controller's object and of its pods."""
