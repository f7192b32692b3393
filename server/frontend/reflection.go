package frontend

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
)

// registerReflection registers reflection for the public API. It hides the service that only members call, and the messages
// of that service and of the Raft log.
func registerReflection(s *grpc.Server) {
	options := reflection.ServerOptions{Services: published{s}, DescriptorResolver: public{}}
	reflectionv1.RegisterServerReflectionServer(s, reflection.NewServerV1(options))
	reflectionv1alpha.RegisterServerReflectionServer(s, reflection.NewServer(options))
}

// published lists the services that reflection shows.
type published struct{ *grpc.Server }

func (p published) GetServiceInfo() map[string]grpc.ServiceInfo {
	services := p.Server.GetServiceInfo()
	delete(services, peerv1.PeerService_ServiceDesc.ServiceName)
	return services
}

// public finds descriptors of the public API and of the files that it imports.
type public struct{}

// FindFileByPath implements protodesc.Resolver.
func (public) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	file, err := protoregistry.GlobalFiles.FindFileByPath(path)
	if err != nil || !isPublic(file) {
		return nil, protoregistry.NotFound
	}
	return file, nil
}

// FindDescriptorByName implements protodesc.Resolver.
func (public) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil || !isPublic(found.ParentFile()) {
		return nil, protoregistry.NotFound
	}
	return found, nil
}

func isPublic(file protoreflect.FileDescriptor) bool {
	name := string(file.Package())
	return name == "snowraft.v1" || strings.HasPrefix(name, "google.") || strings.HasPrefix(name, "grpc.")
}
