//go:build race

package engine_test

// usualBookings is few: the race detector makes each ten times as slow.
const usualBookings = 240
