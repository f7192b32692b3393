//go:build race

package server_test

// raceDetector: then tests keep the processors busy.
const raceDetector = true
