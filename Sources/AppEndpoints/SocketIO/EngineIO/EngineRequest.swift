package import WebServer

/// The query of an Engine.IO request: `EIO=3&transport=polling&sid=…&auth_token=…`.
package struct EngineRequest: Sendable, Equatable {
    /// Why a request is refused, with Engine.IO's numbers.
    package enum Fault: Int, Error, Sendable {
        case unknownTransport = 0
        case unknownSession = 1
        case badHandshakeMethod = 2
        case badRequest = 3
        case forbidden = 4
        case unsupportedVersion = 5

        package var message: String {
            switch self {
            case .unknownTransport: "Transport unknown"
            case .unknownSession: "Session ID unknown"
            case .badHandshakeMethod: "Bad handshake method"
            case .badRequest: "Bad request"
            case .forbidden: "Forbidden"
            case .unsupportedVersion: "Unsupported protocol version"
            }
        }

        package var json: JSONValue { ["code": .integer(rawValue), "message": .string(message)] }
    }

    package enum Transport: String, Sendable { case polling, websocket }

    package var transport: Transport
    package var session: String?
    package var token: String
    /// The client wants payloads of text.
    var wantsText: Bool

    package init(uri: String) throws(Fault) {
        let query = FormBody(queryOf: uri)
        // The Swift client sends no version, and means 3. A client of another version would misread every answer.
        guard (query["EIO"] ?? "3") == "3" else { throw .unsupportedVersion }
        guard let transport = query["transport"].flatMap({ Transport(rawValue: $0) }) else { throw .unknownTransport }
        // JSONP is for browsers without CORS.
        guard query["j"] == nil else { throw .badRequest }
        self.transport = transport
        session = query["sid"]
        token = query["auth_token"] ?? ""
        wantsText = query["b64"].map { $0 != "0" } ?? false
    }
}
