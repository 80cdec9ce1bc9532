package import Admission
package import Basics
import Hummingbird
import WebServer

/// The routes of health, metrics and the description of the API.
extension RouteTable {
    /// - Parameters:
    ///   - policy: says who may read the names of private rooms.
    ///   - clusterFault: why the node can do nothing for clients: it is not registered, it is alone, or no other node
    ///     believes it. A store that is down for every node changes nothing. Health never depends on it.
    ///   - isEmptying: whether the node's rooms are being given away.
    package mutating func addServer(
        _ state: any ConferenceState, policy: AccessPolicy,
        clusterFault: @escaping @Sendable () -> String? = { nil },
        isEmptying: @escaping @Sendable () -> Bool = { false }, statistics: @escaping @Sendable () -> [MetricSample]
    ) {
        let ok = RouteDescription.Answer.file("ok", "text/plain")
        add(
            Route(
                .get, "/healthz", .everyone,
                RouteDescription(tag: "server", summary: "Whether the server lives", answers: [ok])
            ) { _ in .text("ok") })
        add(
            Route(
                .get, "/readyz", .everyone,
                RouteDescription(
                    tag: "server", summary: "Whether it takes new calls",
                    parameters: [
                        .query(
                            "overload",
                            "`ignore`: an overload is no reason, for balancers that would have nobody left where all nodes are overloaded."
                        )
                    ], answers: [ok], failures: [503])
            ) { asked in
                if state.isDraining || isEmptying() {
                    throw APIError(.draining, "the server is going down", headers: [.retryAfter: "10"])
                }
                // In a cluster a node that takes no new room lets people into those that run, and passes others on.
                if state.isOverloaded, asked.query("overload") != "ignore" {
                    throw APIError(
                        .overloaded, "the server has all the calls that it can carry", headers: [.retryAfter: "5"])
                }
                if let fault = clusterFault() {
                    throw APIError(.overloaded, fault, headers: [.retryAfter: "5"])
                }
                return .text("ok")
            })
        add(
            Route(
                .get, "/metrics", .reader,
                RouteDescription(
                    tag: "server",
                    summary:
                        "Metrics for Prometheus; rooms with a PIN or a waiting room have series for the administrator only",
                    answers: [.file("Prometheus text.", "text/plain")]
                )
            ) { asked in
                let samples = state.metrics(namesPrivateRooms: policy.isAdmin(asked)) + statistics()
                return .text(PrometheusText.write(samples), type: PrometheusText.contentType)
            })
    }

    /// Adds the description of the routes that were added before, so this comes last.
    package mutating func addDescription(version: String) {
        let description = RouteDescription(
            tag: "server", summary: "This description", answers: [.json("OpenAPI 3.1.", ["type": "object"])])
        let path = "/api/openapi.json"
        let stub = Route(.get, path, .everyone, description) { _ in Response(status: .ok) }
        // Encoded once, when it is first asked for: it is the largest answer of all, and open to everybody.
        let document = Guarded<ByteBuffer?>(nil)
        let all = routes + [stub]
        add(
            Route(.get, path, .everyone, description) { _ in
                .json(
                    document.withLock { made in
                        let answer = made ?? ByteBuffer(bytes: OpenAPI.document(all, version: version).bytes)
                        made = answer
                        return answer
                    })
            })
    }
}
