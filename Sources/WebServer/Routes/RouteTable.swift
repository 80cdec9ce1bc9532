import Basics
import FoundationEssentials
package import HTTPTypes
package import Hummingbird

/// One route: its method, path, access rule, description for the OpenAPI document, and handler.
package struct Route: Sendable {
    package typealias Handler = @Sendable (RouteRequest) async throws -> Response

    package var method: HTTPRequest.Method
    /// `/api/rooms/{room}`; a last segment `{name...}` takes the rest of the path.
    package var path: String
    package var access: Access
    /// nil keeps the route out of the document (pages and assets).
    package var description: RouteDescription?
    /// The most bytes of a body, where they are more than usual.
    package var bodyLimit: Int
    /// Fixed origins that apps send, beside those that `http.allowedOrigins` lists.
    package var appOrigins: Set<WebOrigin>
    /// Whether players ask several times a second while they play: `limits.requestsPerSecondPerAddress` does not count
    /// these requests.
    package var isStream: Bool
    /// Which of several servers answers; nil: the usual one for the path, which the `RequestRouter` knows.
    package var placement: Placement?
    package var handler: Handler
    /// Whether the route answers under every host name: programs that check health know only the address.
    package var isHealthCheck: Bool { path == "/healthz" || path == "/readyz" }

    fileprivate var segments: [Segment]

    package init(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access, _ description: RouteDescription?,
        bodyLimit: Int = LargeBodies.freeBytes, appOrigins: Set<WebOrigin> = [], isStream: Bool = false,
        placement: Placement? = nil, handler: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.description = description
        self.bodyLimit = bodyLimit
        self.appOrigins = appOrigins
        self.isStream = isStream
        self.placement = placement
        self.handler = handler
        segments = path.split(separator: "/").map { Segment($0) }
    }

    fileprivate enum Segment: Sendable {
        case literal(String)
        case parameter(String)

        init(_ text: Substring) {
            self = text.first == "{" ? .parameter(String(text.dropFirst().dropLast())) : .literal(String(text))
        }
    }

    /// The values of the path's parameters; nil if the path does not match.
    fileprivate func match(_ parts: [String]) -> [String: String]? {
        guard parts.count == segments.count else { return nil }
        var values: [String: String] = [:]
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .literal(let text): if text != part { return nil }
            case .parameter(let name): values[name] = part
            }
        }
        return values
    }

    fileprivate var literals: Int {
        segments.count {
            if case .literal = $0 { true } else { false }
        }
    }
}

/// Finds the route of a request. Unknown paths get 404 and wrong methods 405 with `Allow`, all as JSON.
package struct RouteTable: Sendable {
    package private(set) var routes: [Route] = []
    /// The form of the values of a path's parameters.
    private let normalize: @Sendable (String) -> String

    /// - Parameter normalize: makes one form of texts that mean the same.
    package init(normalize: @escaping @Sendable (String) -> String = { $0 }) { self.normalize = normalize }

    package mutating func add(_ route: Route) { routes.append(route) }

    /// The most bytes of a request's body; 0 where no route takes it. Only a POST, PUT or PATCH has a route that takes
    /// more than usual.
    package func bodyLimit(_ method: String, _ path: some StringProtocol) -> Int {
        guard ["POST", "PUT", "PATCH"].contains(method), let method = HTTPRequest.Method(rawValue: method),
            case .found(let route, _) = find(method, String(path))
        else { return 0 }
        return route.bodyLimit
    }

    package enum Match: Sendable {
        case found(Route, [String: String])
        case wrongMethod(allowed: [HTTPRequest.Method])
        case notFound
    }

    package func find(_ method: HTTPRequest.Method, _ path: String) -> Match {
        // A path with an invalid escape matches no route.
        let parts = path.split(separator: "/").map { $0.percentDecoded.map(normalize) }
        let known = parts.compactMap { $0 }
        guard known.count == parts.count else { return .notFound }
        let candidates = routes.compactMap { route in route.match(known).map { (route, $0) } }
        guard let best = candidates.map({ $0.0.literals }).max() else { return .notFound }
        let nearest = candidates.filter { $0.0.literals == best }
        if let (route, values) = nearest.first(where: { $0.0.method == method }) { return .found(route, values) }
        if method == .head, let (route, values) = nearest.first(where: { $0.0.method == .get }) {
            return .found(route, values)
        }
        var allowed = nearest.map { $0.0.method }
        if allowed.contains(.get) { allowed.append(.head) }
        return .wrongMethod(allowed: allowed)
    }
}
