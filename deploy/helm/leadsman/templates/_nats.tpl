{{- define "leadsman.natsName" -}}
{{- include "leadsman.fullname" . }}-nats
{{- end -}}

{{/* Whether our own processes log in at a NATS of ours by user and password. */}}
{{- define "leadsman.natsAccounts" -}}
{{- if and .Values.nats.enabled .Values.nats.server.accounts (not .Values.nats.credentialsSecret) }}true{{ end -}}
{{- end -}}

{{/* Secret with ca.crt of the servers: named, or the one that holds the certificate of ours. */}}
{{- define "leadsman.natsCaSecret" -}}
{{- if .Values.nats.tlsCaSecret -}}
{{- .Values.nats.tlsCaSecret -}}
{{- else if .Values.nats.enabled -}}
{{- .Values.nats.server.tls.secretName -}}
{{- end -}}
{{- end -}}

{{/* Secret with the credentials of a sidecar, in the namespace of its pod. */}}
{{- define "leadsman.natsSidecarSecret" -}}
{{- if .Values.nats.sidecarCredentialsSecret -}}
{{- .Values.nats.sidecarCredentialsSecret -}}
{{- else if include "leadsman.natsAccounts" . -}}
{{- include "leadsman.natsName" . }}-sender
{{- end -}}
{{- end -}}

{{/*
A password of ours: the one that is there already, so that an upgrade changes none. It begins with a
letter, since nats-server reads a variable as it reads its file.
Usage: include "leadsman.natsPassword" (list $ "sender")
*/}}
{{- define "leadsman.natsPassword" -}}
{{- $root := index . 0 -}}
{{- $name := printf "%s-%s" (include "leadsman.natsName" $root) (index . 1) -}}
{{- $found := lookup "v1" "Secret" $root.Release.Namespace $name | default dict -}}
{{- get (get $found "data" | default dict) "password" | default (printf "p%s" (randAlphaNum 31) | b64enc) -}}
{{- end -}}

{{/* deploy/nats has the reasons for each line. */}}
{{- define "leadsman.natsConfig" -}}
{{- $server := .Values.nats.server -}}
{{- $prefix := .Values.nats.subjectPrefix -}}
server_name: $POD_NAME
listen: {{ printf "%s:4222" $server.listen.client | quote }}
http: {{ printf "%s:8222" $server.listen.monitoring | quote }}
pid_file: "/var/run/nats/nats.pid"
write_deadline: "2s"
max_pending: 8MB
max_payload: 1MB
ping_interval: "10s"
ping_max: 2
lame_duck_duration: "30s"
lame_duck_grace_period: "2s"
{{- if $server.tls.secretName }}
tls {
  cert_file: "/var/run/nats-tls/tls.crt"
  key_file: "/var/run/nats-tls/tls.key"
}
{{- end }}
{{- if $server.accounts }}
accounts {
  LEADSMAN {
    users: [
      { user: sender, password: $SENDER_PASSWORD
        permissions { publish: "{{ $prefix }}.v1.frames.>", subscribe: { deny: ">" } } }
      { user: collector, password: $COLLECTOR_PASSWORD
        permissions { publish: { deny: ">" }, subscribe: "{{ $prefix }}.v1.frames.>" } }
      { user: picker, password: $PICKER_PASSWORD
        permissions { publish: "{{ $prefix }}.v1.picker.*"
                      subscribe: ["{{ $prefix }}.v1.frames.>", "{{ $prefix }}.v1.picker.*"] } }
    ]
  }
}
{{- end }}
{{- if gt (int $server.replicas) 1 }}
cluster {
  name: {{ include "leadsman.natsName" . }}
  listen: {{ printf "%s:6222" $server.listen.cluster | quote }}
  authorization { user: route, password: $ROUTE_PASSWORD }
  routes: [{{ range $i := until (int $server.replicas) }}{{ if $i }}, {{ end }}$ROUTE_{{ $i }}{{ end }}]
}
{{- end }}
{{- end -}}

{{/* Secret with the password of a role. Usage: include "leadsman.natsRoleSecret" (list $ "sender") */}}
{{- define "leadsman.natsRoleSecret" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- get $root.Values.nats.server.passwordSecrets $role | default (printf "%s-%s" (include "leadsman.natsName" $root) $role) -}}
{{- end -}}

{{/*
NATS settings of our own processes, and where their files are. The role is that of nats.conf.
Usage: include "leadsman.natsEnv" (list $ "sender")
*/}}
{{- define "leadsman.natsEnv" -}}
{{- $root := index . 0 -}}
- name: LEADSMAN_NATS_URL
  value: {{ include "leadsman.natsUrl" $root | quote }}
- name: LEADSMAN_SUBJECT_PREFIX
  value: {{ $root.Values.nats.subjectPrefix | quote }}
{{- if include "leadsman.natsAccounts" $root }}
- name: LEADSMAN_NATS_USER
  value: {{ index . 1 }}
- name: LEADSMAN_NATS_PASSWORD_FILE
  value: /var/run/leadsman/nats/password
{{- else if and $root.Values.nats.user $root.Values.nats.credentialsSecret }}
- name: LEADSMAN_NATS_USER
  value: {{ $root.Values.nats.user | quote }}
- name: LEADSMAN_NATS_PASSWORD_FILE
  value: /var/run/leadsman/nats/password
{{- else if $root.Values.nats.credentialsSecret }}
- name: LEADSMAN_NATS_CREDS_FILE
  value: /var/run/leadsman/nats/nats.creds
{{- end }}
{{- if include "leadsman.natsCaSecret" $root }}
- name: LEADSMAN_NATS_TLS_CA_FILE
  value: /var/run/leadsman/nats-ca/ca.crt
{{- end }}
{{- end -}}

{{- define "leadsman.natsMounts" -}}
{{- $root := index . 0 -}}
{{- if or $root.Values.nats.credentialsSecret (include "leadsman.natsAccounts" $root) }}
- name: nats
  mountPath: /var/run/leadsman/nats
  readOnly: true
{{- end }}
{{- if include "leadsman.natsCaSecret" $root }}
- name: nats-ca
  mountPath: /var/run/leadsman/nats-ca
  readOnly: true
{{- end }}
{{- end -}}

{{- define "leadsman.natsVolumes" -}}
{{- $root := index . 0 -}}
{{- if include "leadsman.natsAccounts" $root }}
- name: nats
  secret:
    secretName: {{ include "leadsman.natsRoleSecret" . }}
{{- else if $root.Values.nats.credentialsSecret }}
- name: nats
  secret:
    secretName: {{ $root.Values.nats.credentialsSecret }}
{{- end }}
{{- with include "leadsman.natsCaSecret" $root }}
- name: nats-ca
  secret:
    secretName: {{ . }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- end -}}
