import Admission
import Basics
import Cluster
import Conference
import HTTPTypes
package import WebServer

/// What a node asks of the others before a layout is removed: whether one of their rooms uses it.
package enum LayoutUse {
    /// The path at the internal listener: 409 where the layout is in use, else 204.
    private static let path = "/cluster/layouts/"

    /// The layout that a request asks about; nil: it asks for something else.
    package static func layout(_ path: String) -> String? {
        guard path.hasPrefix(Self.path) else { return nil }
        let name = String(path.dropFirst(Self.path.count))
        return LayoutDocument.isName(name) ? name : nil
    }

    /// - Throws: where a room of another node uses the layout, and where a node does not answer. Nodes of an earlier
    ///   version, which do not know the question, have no say.
    package static func checkOthers(_ name: String, _ asked: RouteRequest, _ cluster: ClusterFront) async throws {
        let answers = await withTaskGroup(of: (node: String, status: HTTPResponse.Status?).self) { group in
            for node in cluster.others {
                group.addTask {
                    let answer = await NodeRequests(front: cluster).ask(
                        node, .get, path + name, asked, within: cluster.timing.list)
                    return (node.id, answer?.status)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        if answers.contains(where: { $0.status == .conflict }) { throw ConferenceError.layoutInUse(name) }
        let silent = answers.filter { $0.status == nil }.map(\.node).sorted()
        if !silent.isEmpty {
            throw APIError(
                Refusal.layoutUnchanged(
                    "the nodes \(silent.joined(separator: ", ")) do not say whether their rooms use it"))
        }
    }
}
