import Hummingbird

/// Health, figures and the description of the API.
extension RouteTable {
    mutating func addServer(_ service: any RoomService, figures: @escaping @Sendable () -> [MetricLine]) {
        let ok = RouteDescription.Answer.file("ok", "text/plain")
        add(
            Route(
                .get, "/healthz", .everyone, RouteDescription(tag: "server", summary: "Whether the server lives", answers: [ok])
            ) { _ in .text("ok") })
        add(
            Route(
                .get, "/readyz", .everyone,
                RouteDescription(tag: "server", summary: "Whether it takes new calls", answers: [ok], failures: [503])
            ) { _ in
                if service.isDraining {
                    throw APIError(.serviceUnavailable, "draining", "the server is going down", headers: [.retryAfter: "10"])
                }
                if service.isOverloaded {
                    throw APIError(
                        .serviceUnavailable, "overloaded", "the server has all the calls that it can carry", headers: [.retryAfter: "5"])
                }
                return .text("ok")
            })
        add(
            Route(
                .get, "/metrics", .reader,
                RouteDescription(tag: "server", summary: "Figures for Prometheus", answers: [.file("Prometheus text.", "text/plain")])
            ) { _ in .text(PrometheusText.write(await service.metrics() + figures()), type: PrometheusText.contentType) })
    }

    /// Last, since it describes what was added before.
    mutating func addDescription(version: String) {
        let description = RouteDescription(
            tag: "server", summary: "This description", answers: [.json("OpenAPI 3.1.", ["type": "object"])])
        let path = "/api/openapi.json"
        let stub = Route(.get, path, .everyone, description) { _ in Response(status: .ok) }
        let document = OpenAPI.document(routes + [stub], version: version)
        add(Route(.get, path, .everyone, description) { _ in .json(document) })
    }
}
