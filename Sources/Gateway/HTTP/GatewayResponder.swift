import HTTPTypes
import Hummingbird
import Logging

/// Answers every HTTP request: origin rules, access, the route, and one shape for everything that goes wrong.
struct GatewayResponder: HTTPResponder {
    typealias Context = GatewayContext

    var table: RouteTable
    var origins: OriginPolicy
    var access: AccessPolicy
    var figures: GatewayFigures
    var usesTLS: Bool

    func respond(to request: Request, context: GatewayContext) async throws -> Response {
        var response = await answer(request, context)
        decorate(&response, request)
        figures.countRequest(status: response.status.code)
        return response
    }

    private func answer(_ request: Request, _ context: GatewayContext) async -> Response {
        let origin = request.headers[.origin]
        var asked = RouteRequest(request: request, context: context, parameters: [:])
        let isAllowedOrigin = origins.allows(origin: origin, hosts: asked.hosts)
        do {
            switch table.find(request.method, request.uri.path) {
            case .found(let route, let parameters):
                asked.parameters = parameters
                if route.access != .everyone, request.method != .options, !isAllowedOrigin, asked.bearer == nil {
                    throw APIError(
                        .forbidden, "forbidden", "pages of \(origin ?? "this origin") may not use this server; http.allowedOrigins lists who may")
                }
                try await access.check(route.access, asked)
                let response = try await route.handler(asked)
                return request.method == .head ? response.createHeadResponse() : response
            case .wrongMethod(let allowed):
                let list = Set(allowed.map(\.rawValue)).union(["OPTIONS"]).sorted().joined(separator: ", ")
                if request.method == .options { return Response(status: .noContent, headers: [.allow: list]) }
                throw APIError(
                    .methodNotAllowed, "method_not_allowed", "\(request.method.rawValue) is not possible here; allowed: \(list)",
                    headers: [.allow: list])
            case .notFound:
                throw APIError.notFound("there is nothing at \(request.uri.path); /api/openapi.json lists what is")
            }
        } catch let error as APIError {
            return error.response
        } catch let error as ServiceError {
            return APIError(error).response
        } catch let error as any HTTPResponseError {
            return APIError(error.status, "bad_request", "\(error)").response
        } catch {
            context.logger.error("A request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            return APIError(.internalServerError, "internal", "the server could not do this; its log says more").response
        }
    }

    private func decorate(_ response: inout Response, _ request: Request) {
        response.headers[.xContentTypeOptions] = "nosniff"
        if usesTLS { response.headers[.strictTransportSecurity] = "max-age=15552000" }
        guard let origin = request.headers[.origin] else { return }
        response.headers[.vary] = "Origin"
        guard origins.allows(origin: origin, hosts: []) else { return }
        // CORS for the pages that http.allowedOrigins lists.
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlExposeHeaders] = "Location, ETag, Link, Accept-Patch, Accept-Post, Retry-After, Allow"
        if request.method == .options {
            response.headers[.accessControlAllowMethods] = response.headers[.allow] ?? "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"
            response.headers[.accessControlAllowHeaders] = "Authorization, Content-Type, If-Match, If-None-Match, Range"
            response.headers[.accessControlMaxAge] = "600"
        }
    }
}
