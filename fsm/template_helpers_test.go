package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	unknownTemplate   = commandv1.Refusal_REFUSAL_UNKNOWN_TEMPLATE
	templateExists    = commandv1.Refusal_REFUSAL_TEMPLATE_EXISTS
	templateSuspended = commandv1.Refusal_REFUSAL_TEMPLATE_SUSPENDED
)

// templateOf returns the specification of a template with the settings of plain.
func templateOf(pattern string, changes ...func(*commandv1.SequenceSpec)) *commandv1.TemplateSpec {
	return &commandv1.TemplateSpec{Pattern: pattern, Settings: plain("", changes...)}
}

func createTemplate(spec *commandv1.TemplateSpec) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_CreateTemplate{CreateTemplate: &commandv1.CreateTemplate{Spec: spec, CodeSecret: secretFor(spec)}}}
}

func updateTemplate(spec *commandv1.TemplateSpec, generation uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_UpdateTemplate{
		UpdateTemplate: &commandv1.UpdateTemplate{Spec: spec, Generation: generation, CodeSecret: secretFor(spec)},
	}}
}

// secretFor returns a secret if the settings have codes.
func secretFor(spec *commandv1.TemplateSpec) []byte {
	if spec.GetSettings().GetCode() == nil {
		return nil
	}
	return make([]byte, codeSecretBytes)
}

func deleteTemplate(pattern string, generation uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_DeleteTemplate{
		DeleteTemplate: &commandv1.DeleteTemplate{Pattern: pattern, Generation: generation},
	}}
}

func resumeTemplate(pattern string, generation uint64, start int64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ResumeTemplate{
		ResumeTemplate: &commandv1.ResumeTemplate{Pattern: pattern, Generation: generation, Start: start},
	}}
}

func begin(name string, template uint64, period int32) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_BeginSequence{
		BeginSequence: &commandv1.BeginSequence{Name: name, Template: template, Period: period},
	}}
}
