package console

// Viewers returns the number of streams.
func (c *Console) Viewers() int {
	c.viewers.mu.Lock()
	defer c.viewers.mu.Unlock()
	return c.viewers.open
}
