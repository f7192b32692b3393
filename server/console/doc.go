// Package console shows a cluster to people: pages at "/" and below /console, of which one stream of server-sent events
// keeps each up to date.
//
// A page reads only public RPCs, with the rights of its viewer, and changes nothing. Where a fact can be changed, the page
// shows the command that changes it. Pages work without JavaScript. No page loads anything from another place, and the
// policy in its headers makes a browser enforce that.
package console
