import Basics
import FoundationEssentials
import NIOCore
import NIOHTTP1

extension NodeBytes {
    /// Serves the client where its room is here.
    func serve(by endpoint: RawTCPEndpoint, _ front: ClusterFront) async {
        let room = handshake.headers.first(name: NodeHeaders.room)?.percentDecoded ?? ""
        let epoch = handshake.headers.first(name: NodeHeaders.epoch).flatMap { Int64($0) }
        do throws(Refusal) {
            if case .elsewhere(let owner) = try await front.ownership(of: room, epoch: epoch) {
                return await close(OwnedSocket.notOwner, owner ?? "")
            }
            if try await !front.takes(room) { return await close(OwnedSocket.full, "") }
        } catch {
            return await close(1013, error.code.rawValue)
        }
        tell(.serving)
        await endpoint.serve(channel, from: handshake.remote, segment: segment) {
            handshake.enteredRoom(true)
            tell(.inside)
        }
    }
}
