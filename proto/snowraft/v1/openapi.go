// Package snowraftv1 is the public API: the generated code of its protos.
package snowraftv1

import _ "embed" // embeds OpenAPI

// OpenAPI is the OpenAPI 2.0 document, in JSON, of the services' HTTP form.
//
//go:embed snowraft.swagger.json
var OpenAPI string
