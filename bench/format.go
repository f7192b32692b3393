package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// format returns a number as text.
type format func(float64) string

// nanoseconds formats a time, given in nanoseconds, with a suitable unit.
func nanoseconds(ns float64) string {
	for _, unit := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if math.Abs(ns) >= 0.9995*unit.ns {
			return digits(ns/unit.ns, 2) + " " + unit.name
		}
	}
	return digits(ns, 2) + " ns"
}

// inSeconds returns a duration as text, in seconds.
func inSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s" }

// times returns a format that multiplies a number by a factor and formats it with f.
func times(factor float64, f format) format {
	return func(x float64) string { return f(factor * x) }
}

// with returns a format that appends a unit to the text of f.
func with(unit string, f format) format {
	return func(x float64) string { return f(x) + unit }
}

// ratio formats a ratio.
func ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// spread formats the median of ratios. If there are several ratios, it adds the least and the greatest.
func spread(ratios []float64) string {
	if len(ratios) < 2 {
		return ratio(median(ratios))
	}
	return fmt.Sprintf("%s (%s–%s)", ratio(median(ratios)), ratio(slices.Min(ratios)), ratio(slices.Max(ratios)))
}

// amount formats a count or a rate: 950, 12,300, 1.62 million.
func amount(x float64) string {
	if math.Abs(x) >= 999_500 {
		return digits(x/1e6, 3) + " million"
	}
	return grouped(significant(x, 3))
}

// whole formats a number rounded to an integer.
func whole(x float64) string { return grouped(math.Round(x)) }

// digits formats a number with at least n significant digits.
func digits(x float64, n int) string {
	rounded := significant(x, n)
	if rounded == 0 {
		return "0"
	}
	before := int(math.Floor(math.Log10(math.Abs(rounded)))) + 1
	if before >= n {
		return grouped(math.Round(x))
	}
	return strconv.FormatFloat(rounded, 'f', n-before, 64)
}

// significant rounds a number to n significant digits.
func significant(x float64, n int) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, float64(n-1)-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// grouped formats a whole number with a comma between thousands.
func grouped(x float64) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', -1, 64)
	text, fraction, _ := strings.Cut(text, ".")
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	if fraction != "" {
		text += "." + fraction
	}
	if x < 0 {
		text = "-" + text
	}
	return text
}
