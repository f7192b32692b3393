{{- /* Refuses values that values.schema.json cannot judge, because they are wrong only together. */ -}}
{{- define "snowraft.check" -}}
{{- if not .Values.image.repository -}}
{{- fail "image.repository: missing; push the image of the release to a registry that the nodes can pull from, and name its repository" -}}
{{- end -}}
{{- $s := .Values.security -}}
{{- if and $s.insecure $s.existingSecret -}}
{{- fail "security.insecure: cannot be combined with security.existingSecret" -}}
{{- end -}}
{{- if and $s.insecure $s.certificateSecret -}}
{{- fail "security.certificateSecret: needs a secured cluster; remove security.insecure" -}}
{{- end -}}
{{- if and $s.hosts (or $s.insecure $s.certificateSecret) -}}
{{- fail "security.hosts: cannot be combined with security.insecure or security.certificateSecret" -}}
{{- end -}}
{{- if and $s.insecure (not $s.clientTLS) -}}
{{- fail "security.clientTLS: has no effect with security.insecure; remove one of the two" -}}
{{- end -}}
{{- if and (not $s.clientTLS) $s.certificateSecret -}}
{{- fail "security.certificateSecret: cannot be combined with security.clientTLS false" -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if hasPrefix "SNOWRAFT_" .name -}}
{{- fail (printf "extraEnv %q: variables of Snowraft are set by other values; use config or the value for this setting" .name) -}}
{{- end -}}
{{- end -}}
{{- range $label, $_ := .Values.podLabels -}}
{{- if or (eq $label "app.kubernetes.io/component") (hasKey (include "snowraft.labels" $ | fromYaml) $label) -}}
{{- fail (printf "podLabels %q: set by the chart; choose another label" $label) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.scaleDown.from (lt (int .Values.scaleDown.from) (int .Values.replicas)) -}}
{{- fail (printf "scaleDown.from %v: must not be less than replicas (%v)" .Values.scaleDown.from .Values.replicas) -}}
{{- end -}}
{{- /* Other names mean other volumes. The label of the chart stays when names change. */ -}}
{{- if .Release.IsUpgrade -}}
{{- range (lookup "apps/v1" "StatefulSet" .Release.Namespace "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $same := and (eq (get $labels "app.kubernetes.io/instance") $.Release.Name) (regexMatch (printf "^%s-[0-9]+[.]" $.Chart.Name) (get $labels "helm.sh/chart")) -}}
{{- if and $same (ne .metadata.name (include "snowraft.fullname" $)) -}}
{{- fail (printf "fullnameOverride, nameOverride: the members of this release have the name %q; with the name %q, a new cluster without their data would replace them, and could repeat their IDs; keep the name" .metadata.name (include "snowraft.fullname" $)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
