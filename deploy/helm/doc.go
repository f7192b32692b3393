// Package helm tests the chart in the folder snowraft: what it renders for many values, which values it refuses, and that the
// rendered commands make a cluster. It is a module of its own, so that Helm and the types of Kubernetes stay out of the program's
// go.mod. Run it with "make chart-check".
package helm
