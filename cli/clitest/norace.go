//go:build !race

package clitest

const raceDetector = false
