package web

import "net/http"

// cosidMachines begins the path, "/machines/{namespace}", at which CosId's client requests, renews and returns machine numbers.
const cosidMachines = "machines/"

// machines refuses machine numbers, with the status at which CosId's client shows the message. The end of a lease could not be enforced:
// a client that cannot renew its number writes that to its log and continues to issue IDs, and a client that finds a number in a file
// of an earlier start takes it without contact to the server.
func (h *handler) machines(w http.ResponseWriter, r *http.Request) (method string, err error) {
	err = invalid("machine numbers are not issued to CosId: its generators continue when a lease has ended, and two programs could then issue the same IDs; " +
		`start the program with "snowraft worker run" and the manual distributor, or use the generator of a Snowraft client`)
	refuseCosID(w, r, err)
	switch r.Method {
	case http.MethodPost, http.MethodPatch, http.MethodDelete:
		return r.Method + " /machines/{namespace}", err
	}
	return other, err
}
