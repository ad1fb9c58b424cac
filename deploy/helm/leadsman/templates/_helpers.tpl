{{- define "leadsman.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough that every suffix still fits a name of 63 characters. */}}
{{- define "leadsman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "leadsman.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "leadsman.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "leadsman.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Usage: include "leadsman.labels" (list $ "picker") */}}
{{- define "leadsman.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{ include "leadsman.selectorLabels" . }}
{{- end -}}

{{- define "leadsman.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "leadsman.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Our own pods never wait for our own webhook: it looks away from this label. */}}
{{- define "leadsman.podLabels" -}}
{{ include "leadsman.labels" . }}
leadsman.dev/inject: "false"
{{- end -}}

{{- define "leadsman.podSecurity" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "leadsman.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "leadsman.natsUrl" -}}
{{- if .Values.nats.url -}}
{{- .Values.nats.url -}}
{{- else if .Values.nats.enabled -}}
{{- printf "%s://%s.%s.svc:4222" (ternary "tls" "nats" (ne .Values.nats.server.tls.secretName "")) (include "leadsman.natsName" .) .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* Where reports are streamed to without NATS: the collectors, else the pickers themselves. */}}
{{- define "leadsman.streamUrl" -}}
{{- if not (include "leadsman.natsUrl" .) -}}
{{- if .Values.collector.enabled -}}
{{- printf "grpc://%s-collector.%s.svc:9421" (include "leadsman.fullname" .) .Release.Namespace -}}
{{- else if .Values.picker.enabled -}}
{{- printf "grpc://%s-picker-feed.%s.svc:9421" (include "leadsman.fullname" .) .Release.Namespace -}}
{{- else -}}
{{- fail "reports have nowhere to go: set nats.url, or enable nats, the collector or the picker" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Who a pod of ours is, by the downward API. */}}
{{- define "leadsman.identityEnv" -}}
- name: LEADSMAN_POD_UID
  valueFrom: {fieldRef: {fieldPath: metadata.uid}}
- name: LEADSMAN_POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: LEADSMAN_POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- end -}}

{{/*
Variables of a container: ours, and those of the values, which take the place of ours. A name that
is given twice is refused by server-side apply.
Usage: include "leadsman.env" (list (include "leadsman.pickerEnv" .) .Values.picker.env)
*/}}
{{- define "leadsman.env" -}}
{{- $given := index . 1 -}}
{{- range index . 0 | fromYamlArray }}
{{- if not (hasKey $given .name) }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- range $name, $value := $given }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* Replicas of what needs no setting for it stand on different nodes where they can. */}}
{{- define "leadsman.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "leadsman.selectorLabels" . | nindent 8 }}
{{- end -}}

{{- define "leadsman.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 2
  timeoutSeconds: 2
{{- end -}}

{{- define "leadsman.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Environment of every injected sidecar, as a map: ours, and over it that of the values. */}}
{{- define "leadsman.sidecarEnv" -}}
{{- $env := include "leadsman.sidecarOwnEnv" . | fromYaml -}}
{{- range $name, $value := .Values.sidecar.env }}
{{- $_ := set $env $name (toString $value) -}}
{{- end }}
{{- toYaml $env -}}
{{- end -}}

{{/*
The port is said even where the URL makes it needless: beside a Service called leadsman-agent the
kubelet sets this variable, to a URL.
*/}}
{{- define "leadsman.sidecarOwnEnv" -}}
LEADSMAN_EXPORTER_MODE: {{ ternary "auto" .Values.exporter.mode (eq .Values.exporter.mode "agent-scrape") | quote }}
# Nothing probes it: `kubectl port-forward` reaches the loopback address, and Prometheus needs the pod's.
LEADSMAN_ADMIN_HOST: {{ .Values.sidecar.listen.admin | default (ternary "0.0.0.0" "127.0.0.1" (and .Values.podMonitor.enabled .Values.podMonitor.sidecars)) | quote }}
LEADSMAN_LOG_LEVEL: {{ .Values.logLevel | quote }}
# One arena of the allocator is enough for one thread, and 4 MB less.
MALLOC_ARENA_MAX: "1"
{{- with include "leadsman.natsUrl" . }}
LEADSMAN_NATS_URL: {{ . | quote }}
LEADSMAN_SUBJECT_PREFIX: {{ $.Values.nats.subjectPrefix | quote }}
{{- if include "leadsman.natsAccounts" $ }}
LEADSMAN_NATS_USER: sender
{{- end }}
{{- if and (include "leadsman.natsCaSecret" $) $.Values.nats.sidecarCredentialsSecret }}
LEADSMAN_NATS_TLS_CA_FILE: /var/run/leadsman/nats/ca.crt
{{- end }}
{{- end }}
{{- with include "leadsman.streamUrl" . }}
LEADSMAN_COLLECTOR_URL: {{ . | quote }}
{{- end }}
LEADSMAN_AGENT_PORT: {{ .Values.agent.port | quote }}
{{- if eq .Values.agent.expose "service" }}
LEADSMAN_AGENT_URL: {{ printf "http://%s-agent.%s.svc:%v" (include "leadsman.fullname" .) .Release.Namespace .Values.agent.port | quote }}
{{- end }}
{{- end -}}

{{/* How sidecars are injected: webhook, policy, or empty: not at all. */}}
{{- define "leadsman.injection" -}}
{{- if and .Values.injector.enabled (ne .Values.exporter.mode "agent-scrape") }}{{ .Values.injector.mode }}{{ end -}}
{{- end -}}

{{/*
Who may feed numbers, for network policies: processes of ours in whatever namespace their release is,
and pods that got a sidecar. Usage: include "leadsman.senders" .
*/}}
{{- define "leadsman.senders" -}}
- namespaceSelector: {}
  podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ include "leadsman.name" . }}
    matchExpressions:
      - {key: app.kubernetes.io/component, operator: In, values: [agent, collector, picker]}
- namespaceSelector: {}
  podSelector:
    matchLabels:
      leadsman.dev/sidecar: "true"
{{- with .Values.networkPolicy.senders }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Namespaces whose pods are never looked at. */}}
{{- define "leadsman.excludedNamespaces" -}}
- kube-system
- kube-public
- kube-node-lease
{{- if not .Values.picker.enabled }}
- {{ .Release.Namespace }}
{{- end }}
{{- range .Values.injector.excludedNamespaces }}
- {{ . }}
{{- end }}
{{- end -}}
