//go:build race

package enginetest

// RaceDetector reports whether the race detector watches, which makes everything about ten times as slow. What is repeated many
// times to prove a point is repeated less then: `make test` repeats it in full without the detector.
const RaceDetector = true
