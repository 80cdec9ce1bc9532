import AsyncHTTPClient
import Basics
import Cluster
import Conference
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Threads
import WebServer

/// The events of all nodes as one stream.
///
/// Each event keeps its own id in its data. The stream's ids (`id:`) name the last event of every node, joined by
/// commas, so that a reader that comes again, to whichever node, continues at each of them.
struct NodeEvents: Sendable {
    let front: ClusterFront

    func answer(
        _ asked: RouteRequest, own: @escaping @Sendable (RouteRequest) async throws -> Response
    ) async throws -> Response {
        var response = try await own(asked)
        guard response.status == .ok else { return response }
        let merged = MergedEvents(front: front, asked: asked, own: response.body) { asked in
            await NodeLists(front: front).rooms(asked)
        }
        response.body = ResponseBody { writer in try await merged.write(to: &writer) }
        return response
    }
}
