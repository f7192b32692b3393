// Package attacks holds what strangers do to members: each function makes one attack on the address of
// a member that runs, with nothing but a stranger's knowledge. An error means that the attack
// could not be made. Whether it did harm is for the caller to judge.
package attacks
