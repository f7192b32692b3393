package apply

import (
	"encoding/json"
	"maps"
)

// schema returns the JSON schema of files, for editors.
func schema() ([]byte, error) {
	properties := map[string]any{
		clusterKey: map[string]any{"type": "string", "description": "ID of the cluster that the file describes. The starts in the file count for this cluster only."},
	}
	for _, s := range sections {
		properties[s.key] = s.schema()
	}
	root := mapping(properties, nil)
	maps.Copy(root, map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "$id": schemaURL,
		"title": "Snowraft cluster", "description": "Cluster description for \"snowraft apply\".",
	})
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// schema returns the schema of a section.
func (s section) schema() map[string]any {
	properties := map[string]any{}
	for _, k := range s.keys {
		value := k.form.schema()
		value["description"] = k.about
		if len(k.among) > 0 {
			value["enum"] = k.among
		}
		properties[k.name] = value
	}
	all := mapping(properties, s.need)
	if s.named {
		if len(s.need) == 0 {
			all["type"] = []string{"object", "null"} // a name without a value has the defaults
		}
		all = map[string]any{"type": "object", "additionalProperties": all}
	}
	all["description"] = s.about
	return all
}

// mapping returns the schema of a mapping that has no other keys.
func mapping(properties map[string]any, required []string) map[string]any {
	all := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		all["required"] = required
	}
	return all
}

// schema returns the schema of a value.
func (f form) schema() map[string]any {
	switch f {
	case isList:
		return map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	case isEither:
		return map[string]any{"type": []string{"string", "integer"}}
	default:
		return map[string]any{"type": string(f)}
	}
}
