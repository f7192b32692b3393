{{- /*
A new line for a secret file, as "snowraft secret create" writes it: 32 random bytes and their CRC-32C (Castagnoli), big-endian, in
base32. Templates have no operators for bits, so bits are lists of 0 and 1, and the sum of two modulo 2 is their exclusive or.
*/ -}}
{{- define "snowraft.newSecret" -}}
{{- $alphabet := "abcdefghijklmnopqrstuvwxyz234567" -}}
{{- $bits := list -}}
{{- $polynomial := splitList "" "00011110110111000110111101000001" -}}{{- /* lowest bit first, as the checksum below */ -}}
{{- $checksum := splitList "" (repeat 32 "1") -}}
{{- $random := randBytes 32 | b64dec -}}
{{- range $i := until 32 -}}
  {{- $rest := index $random $i -}}
  {{- $byte := list -}}
  {{- range until 8 -}}
    {{- $bit := mod $rest 2 -}}
    {{- $rest = div $rest 2 -}}
    {{- $byte = prepend $byte $bit -}}
    {{- $carry := mod (add $bit (first $checksum)) 2 -}}
    {{- $checksum = append (rest $checksum) 0 -}}
    {{- if eq $carry 1 -}}
      {{- $sum := list -}}
      {{- range $k, $b := $checksum -}}
        {{- $sum = append $sum (mod (add $b (index $polynomial $k)) 2) -}}
      {{- end -}}
      {{- $checksum = $sum -}}
    {{- end -}}
  {{- end -}}
  {{- $bits = concat $bits $byte -}}
{{- end -}}
{{- range reverse $checksum -}}
  {{- $bits = append $bits (mod (add . 1) 2) -}}
{{- end -}}
{{- $bits = concat $bits (list 0 0) -}}{{- /* up to a multiple of 5 */ -}}
snowraft-secret-1:
{{- range $i := untilStep 0 (len $bits) 5 -}}
  {{- $digit := 0 -}}
  {{- range slice $bits $i (add $i 5) -}}
    {{- $digit = add (mul $digit 2) . -}}
  {{- end -}}
  {{- substr (int $digit) (int (add1 $digit)) $alphabet -}}
{{- end -}}
{{- end -}}
