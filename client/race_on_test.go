//go:build race

package client_test

// raceDetector: then tests keep the processors busy.
const raceDetector = true
