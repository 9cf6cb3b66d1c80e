{{- /* The pod of the CronJob and of the Deployment, without restartPolicy. */ -}}
{{- define "restow.podMetadata" -}}
annotations:
  # Whoever changes the policy sees the pods of a Deployment replaced, as with the Descheduler's chart.
  checksum/config: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
labels:
  {{- include "restow.selectorLabels" . | nindent 2 }}
  {{- with merge (dict) (.Values.podLabels | default dict) (.Values.commonLabels | default dict) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "restow.podSpec" -}}
{{- $deployment := eq .Values.kind "Deployment" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
serviceAccountName: {{ include "restow.serviceAccountName" . }}
{{- if ne .Values.automountServiceAccountToken nil }}
automountServiceAccountToken: {{ .Values.automountServiceAccountToken }}
{{- end }}
{{- range $field := list "imagePullSecrets" "nodeSelector" "affinity" "tolerations" "topologySpreadConstraints" "dnsConfig" "initContainers" }}
{{- with index $.Values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
# restow ends within 55 s of SIGTERM: evictions at hand, their events and the lease, even if nobody answers.
terminationGracePeriodSeconds: 60
containers:
  - name: {{ include "restow.name" . }}
    image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command:
      {{- toYaml .Values.command | nindent 6 }}
    args:
      {{- include "restow.arguments" . | nindent 6 }}
    {{- if $deployment }}
    {{- range $field := list "ports" "livenessProbe" "readinessProbe" }}
    {{- with index $.Values $field }}
    {{ $field }}:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- end }}
    {{- end }}
    {{- with .Values.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.securityContext }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
      - name: policy
        mountPath: /policy-dir
        readOnly: true
      {{- if include "restow.steersByWebhook" . }}
      - name: steering-tls
        mountPath: /steering-tls
        readOnly: true
      {{- end }}
      {{- with .Values.extraServiceAccountVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: policy
    configMap:
      name: {{ include "restow.fullname" . }}
  {{- if include "restow.steersByWebhook" . }}
  - name: steering-tls
    secret:
      secretName: {{ include "restow.steeringSecret" . }}
  {{- end }}
  {{- with .Values.extraServiceAccountVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "restow.arguments" -}}
- --policy-config-file=/policy-dir/policy.yaml
{{- if eq .Values.kind "Deployment" }}
- --descheduling-interval={{ required "deschedulingInterval is required for a Deployment" .Values.deschedulingInterval }}
{{- end }}
{{- if include "restow.elects" . }}
- --leader-elect=true
{{- range $flag, $key := dict "lease-duration" "leaseDuration" "renew-deadline" "renewDeadline" "retry-period" "retryPeriod" "resource-lock" "resourceLock" }}
{{- with index $.Values.leaderElection $key }}
- --leader-elect-{{ $flag }}={{ . }}
{{- end }}
{{- end }}
- --leader-elect-resource-name={{ include "restow.leaseName" . }}
- --leader-elect-resource-namespace={{ include "restow.leaseNamespace" . }}
{{- end }}
{{- if include "restow.steersByWebhook" . }}
- --tls-cert-file=/steering-tls/tls.crt
- --tls-private-key-file=/steering-tls/tls.key
{{- end }}
{{- if .Values.confirmReplacements.enabled }}
- --confirm-replacements
{{- end }}
{{- range $flag, $value := .Values.cmdOptions }}
- {{ if eq $value nil }}{{ printf "--%s" $flag }}{{ else }}{{ printf "--%s=%v" $flag $value | quote }}{{ end }}
{{- end }}
{{- end }}
