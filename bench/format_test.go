package main

import "testing"

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		f    format
		x    float64
		want string
	}{
		{"ns", nanoseconds, 2.13, "2.1 ns"}, {"ns", nanoseconds, 84.4, "84 ns"}, {"ns", nanoseconds, 842.4, "842 ns"},
		{"ns", nanoseconds, 999.7, "1.0 µs"}, {"ns", nanoseconds, 2917, "2.9 µs"}, {"ns", nanoseconds, 69e6, "69 ms"},
		{"ns", nanoseconds, 3.04e9, "3.0 s"}, {"ns", nanoseconds, 91.2e9, "91 s"}, {"ns", nanoseconds, 0, "0 ns"}, {"ns", nanoseconds, 0.031, "0.031 ns"},
		{"amount", amount, 1_617_000, "1.62 million"}, {"amount", amount, 134_211, "134,000"}, {"amount", amount, 950.3, "950"},
		{"amount", amount, 16.44, "16.4"}, {"amount", amount, 999_600, "1.00 million"}, {"amount", amount, 120.3e6, "120 million"}, {"amount", amount, 0, "0"},
		{"whole", whole, 1234567.4, "1,234,567"}, {"whole", whole, -1234, "-1,234"}, {"whole", whole, 99.6, "100"},
		{"ratio", ratio, 0.954, "0.95"}, {"with", with(" %", whole), 99.7, "100 %"}, {"times", times(1e9, nanoseconds), 0.14, "140 ms"},
	} {
		if got := c.f(c.x); got != c.want {
			t.Errorf("%s of %v is %q, want %q", c.name, c.x, got, c.want)
		}
	}
}
