// Package attacks contains the attacks of strangers on members. Each function makes one attack on the address of a
// running member, with a stranger's knowledge only. An error means that the attack was not possible. The caller
// judges whether the attack did harm. [Siege] makes many attacks at random.
package attacks
