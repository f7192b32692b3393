//go:build race

package simtest

// raceDetector makes the longest simulations shorter: with it they take six times as long.
const raceDetector = true
