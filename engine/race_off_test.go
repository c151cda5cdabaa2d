//go:build !race

package engine_test

// usualBookings is as many as TestSimulation gets through in about fifteen seconds.
const usualBookings = 4000
