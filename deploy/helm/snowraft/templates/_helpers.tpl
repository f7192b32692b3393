{{- define "snowraft.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{- define "snowraft.fullname" -}}
{{- $name := include "snowraft.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* The service that gives each pod a DNS name. */ -}}
{{- define "snowraft.headless" -}}
{{- include "snowraft.fullname" . }}-members
{{- end -}}

{{- define "snowraft.selector" -}}
app.kubernetes.io/name: {{ include "snowraft.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "snowraft.labels" -}}
{{ include "snowraft.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "snowraft.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The suffix that the DNS names of all pods share. */ -}}
{{- define "snowraft.domain" -}}
{{ include "snowraft.headless" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{- /* Addresses of all pods at a port, joined by commas. Parameters: the root context, the port. */ -}}
{{- define "snowraft.addresses" -}}
{{- $root := index . 0 -}}
{{- $port := index . 1 -}}
{{- $addresses := list -}}
{{- range $i := until (int $root.Values.replicas) -}}
{{- $addresses = append $addresses (printf "%s-%d.%s:%v" (include "snowraft.fullname" $root) $i (include "snowraft.domain" $root) $port) -}}
{{- end -}}
{{- join "," $addresses -}}
{{- end -}}

{{- /* The names of the service for clients, the shortest first. */ -}}
{{- define "snowraft.tlsHosts" -}}
{{- $service := include "snowraft.fullname" . -}}
{{- $inNamespace := printf "%s.%s" $service .Release.Namespace -}}
{{- $names := list $service $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.%s" $inNamespace .Values.clusterDomain) -}}
{{- join "," (concat $names (.Values.security.hosts | default list)) -}}
{{- end -}}

{{- define "snowraft.secretName" -}}
{{- .Values.security.existingSecret | default (printf "%s-secret" (include "snowraft.fullname" .)) -}}
{{- end -}}

{{- /* The secrets in a Secret, one per line. */ -}}
{{- define "snowraft.secretLines" -}}
{{- $lines := list -}}
{{- range get (.data | default dict) "secret" | b64dec | splitList "\n" -}}
{{- if hasPrefix "snowraft-secret-" (trim .) -}}
{{- $lines = append $lines (trim .) -}}
{{- end -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{- /* https if clients speak TLS with members, otherwise http. */ -}}
{{- define "snowraft.scheme" -}}
{{- if or .Values.security.insecure (not .Values.security.clientTLS) }}http{{ else }}https{{ end -}}
{{- end -}}

{{- define "snowraft.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "snowraft.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* Fields that the specs of all pods share. */ -}}
{{- define "snowraft.pod" -}}
enableServiceLinks: false
automountServiceAccountToken: false
securityContext:
  {{- include "snowraft.podSecurityContext" . | nindent 2 }}
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* A container that runs a client command as an administrator. Parameters: the root context, name, addresses, arguments. */ -}}
{{- define "snowraft.command" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
image: {{ include "snowraft.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
command: [/snowraft]
args: {{ index . 3 | toJson }}
env:
  - name: SNOWRAFT_ADDR
    value: {{ index . 2 | quote }}
  {{- if not $root.Values.security.insecure }}
  - name: SNOWRAFT_SECRET_FILE
    value: /etc/snowraft/secret/secret
  {{- end }}
securityContext:
  {{- include "snowraft.securityContext" $root | nindent 2 }}
resources:
  requests: {cpu: 10m, memory: 32Mi}
  # A quota of the namespace may demand a limit of the CPU, and a command may wait.
  limits: {cpu: 500m, memory: 128Mi}
{{- if not $root.Values.security.insecure }}
volumeMounts:
  {{- include "snowraft.secretMount" $root | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "snowraft.secretMount" -}}
- name: secret
  mountPath: /etc/snowraft/secret
  readOnly: true
{{- end -}}

{{- define "snowraft.secretVolume" -}}
- name: secret
  secret:
    secretName: {{ include "snowraft.secretName" . }}
    defaultMode: 0440
    items:
      - {key: secret, path: secret}
{{- end -}}

{{- /*
The number of replicas before this upgrade; 0 if it is unknown. "kubectl scale" changes the number of pods, but not the number in
the pod template, so the larger one counts the members.
*/ -}}
{{- define "snowraft.replicasBefore" -}}
{{- if .Values.scaleDown.from -}}
{{- .Values.scaleDown.from -}}
{{- else -}}
{{- with lookup "apps/v1" "StatefulSet" .Release.Namespace (include "snowraft.fullname" .) -}}
{{- $before := int .spec.replicas -}}
{{- range .spec.template.spec.containers -}}
{{- range .env -}}
{{- if eq .name "SNOWRAFT_BOOTSTRAP_EXPECT" -}}
{{- $before = max $before (int .value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $before -}}
{{- else -}}
0
{{- end -}}
{{- end -}}
{{- end -}}
