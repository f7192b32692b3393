// Package console shows a cluster to people, on pages at "/" and below /console. A script requests each
// open page again to keep it up to date.
//
// A page reads only public RPCs, with the rights of its viewer, and changes nothing. Where a fact can be changed, the page
// shows the command for the change. Pages work without JavaScript. Pages load nothing from other sites, and a policy in the
// response headers makes browsers enforce that. The main type is [Console].
package console
