package nextversion

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// number is the number of the fields that the next version adds, far from those of real versions.
const number = 1000

// protos returns the generated code of the protos that the next version changes, by path. It derives them from those
// of this build, so that a change of these needs no change here.
func protos() (map[string]string, error) {
	command := protodesc.ToFileDescriptorProto(commandv1.File_command_v1_command_proto)
	command.MessageType = append(command.MessageType, &descriptorpb.DescriptorProto{Name: new("Mark")})
	if err := add(command, "Command", &descriptorpb.FieldDescriptorProto{
		Name: new("mark"), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: new(".command.v1.Mark"), OneofIndex: new(int32(0)),
	}); err != nil {
		return nil, err
	}
	snapshot := protodesc.ToFileDescriptorProto(commandv1.File_command_v1_snapshot_proto)
	if err := add(snapshot, "SnapshotMeta", &descriptorpb.FieldDescriptorProto{
		Name: new("marks"), Type: descriptorpb.FieldDescriptorProto_TYPE_UINT64.Enum(),
	}); err != nil {
		return nil, err
	}
	return generate(command, snapshot)
}

// add adds a field to a message.
func add(file *descriptorpb.FileDescriptorProto, message string, field *descriptorpb.FieldDescriptorProto) error {
	i := slices.IndexFunc(file.GetMessageType(), func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == message })
	if i < 0 {
		return fmt.Errorf("%s has no message %s", file.GetName(), message)
	}
	field.Number, field.Label, field.JsonName = new(int32(number)), descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), field.Name
	file.MessageType[i].Field = append(file.MessageType[i].Field, field)
	return nil
}

// generate runs the generator of "make generate".
func generate(files ...*descriptorpb.FileDescriptorProto) (map[string]string, error) {
	request := &pluginpb.CodeGeneratorRequest{Parameter: new("paths=source_relative"), ProtoFile: files}
	for _, f := range files {
		request.FileToGenerate = append(request.FileToGenerate, f.GetName())
	}
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		return nil, err
	}
	for _, f := range plugin.Files {
		internal_gengo.GenerateFile(plugin, f)
	}
	response := plugin.Response()
	if response.Error != nil {
		return nil, fmt.Errorf("generate protos: %s", response.GetError())
	}
	code := make(map[string]string)
	for _, f := range response.GetFile() {
		code["proto/"+f.GetName()] = f.GetContent()
	}
	return code, nil
}
