import HTTPTypes
import Testing

/// What the published apps send with a request, recorded from their own code: the headers that decide whether they get
/// in. `HOST` is the server's name with its port.
struct ClientHeaders: Sendable, CustomTestStringConvertible {
    var client: String
    var method: HTTPRequest.Method = .get
    var path: String
    var origin: String?
    var referer: String?
    var userAgent: String?
    var isWebSocket = true

    var testDescription: String { "\(client): \(method) \(path)" }

    static let all: [ClientHeaders] = [
        // WebRTC 06e363a6 (M67): WebSocketChannelClient with autobanh.jar, which names no port in `Host` and no user agent;
        // AsyncHttpURLConnection.
        ClientHeaders(client: "AppRTC Android", path: "/ws", origin: "https://www.google.com"),
        ClientHeaders(
            client: "AppRTC Android", method: .post, path: "/join/r", origin: "https://appr.tc",
            userAgent: "Dalvik/2.1.0 (Linux; U; Android 8.0.0; Pixel Build/OPR6)", isWebSocket: false),
        // RoomParametersFetcher names its old server in `Referer` only.
        ClientHeaders(
            client: "AppRTC Android", method: .post, path: "/v1alpha/iceconfig?key=", referer: "https://appr.tc",
            userAgent: "Dalvik/2.1.0 (Linux; U; Android 8.0.0; Pixel Build/OPR6)", isWebSocket: false),
        ClientHeaders(
            client: "AppRTC Android", method: .delete, path: "/collider/r/47990384", origin: "https://appr.tc",
            userAgent: "Dalvik/2.1.0 (Linux; U; Android 8.0.0; Pixel Build/OPR6)", isWebSocket: false),
        // The same commit: ARDWebSocketChannel with SRWebSocket, ARDAppEngineClient.
        ClientHeaders(client: "AppRTC iOS", path: "/ws", origin: "https://HOST/"),
        ClientHeaders(client: "AppRTC iOS, without TLS", path: "/ws", origin: "http://HOST/"),
        ClientHeaders(
            client: "AppRTC iOS", method: .post, path: "/join/r", userAgent: "AppRTCMobile/1 CFNetwork/978 Darwin/18",
            isWebSocket: false),
        ClientHeaders(client: "AppRTC web page on this host", path: "/ws", origin: "https://HOST", userAgent: mozilla),
        ClientHeaders(client: "aiortc 1.2.1 ApprtcSignaling", path: "/ws", origin: "https://HOST"),
        // stasel/WebRTC-iOS 3f55d2e0.
        ClientHeaders(client: "demo app before iOS 13, Starscream 3.1.1", path: "/r", origin: "ws://HOST"),
        ClientHeaders(client: "demo app before iOS 13, Starscream 4.0.4", path: "/", origin: "wss://HOST"),
        ClientHeaders(client: "demo app from iOS 13, URLSession", path: "/r?name=Ada"),
        // FLSocketIM 008744c5 (iOS, Socket.IO-Client-Swift 11.0.0) and 6bf8e0da (Android, socket.io-client 1.0.0).
        ClientHeaders(
            client: "FLSocketIM iOS", path: "/socket.io/?transport=websocket&auth_token=T&sid=S", origin: "ws://HOST"),
        ClientHeaders(
            client: "FLSocketIM iOS with TLS", path: "/socket.io/?transport=websocket&auth_token=T&sid=S",
            origin: "wss://HOST"),
        ClientHeaders(
            client: "FLSocketIM iOS", path: "/socket.io/?transport=polling&b64=1&auth_token=T",
            userAgent: "FLSocketIM/1 CFNetwork/894 Darwin/17", isWebSocket: false),
        // okhttp 3.13.1: no `Origin`; the token comes first in the handshake and last but one afterwards.
        ClientHeaders(
            client: "FLSocketIM Android", path: "/socket.io/?auth_token=T&EIO=3&transport=polling",
            userAgent: "okhttp/3.13.1", isWebSocket: false),
        ClientHeaders(
            client: "FLSocketIM Android", path: "/socket.io/?EIO=3&transport=websocket&auth_token=T&sid=S",
            userAgent: "okhttp/3.13.1"),
    ]

    static let mozilla =
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36"

    /// Pages that a visitor of this server may have open in a browser, and what a page cannot be: none gets in.
    static let foreign: [ClientHeaders] =
        ["/ws", "/r", "/", "/socket.io/?transport=websocket", "/signal"].flatMap { path in
            [
                "https://evil.example", "https://evil.example/", "ws://evil.example:8080", "null", "file://",
                "http://HOST.evil.example",
                "wss://", "https://HOST/r", "https://HOST//",
                // The apps' own origins, sent by a browser: pages of these sites.
                "https://www.google.com", "https://appr.tc",
            ].map { (origin: String) in
                ClientHeaders(client: "a page of \(origin)", path: path, origin: origin, userAgent: mozilla)
            }
        } + [
            // The apps' origins elsewhere than at their own endpoints.
            ClientHeaders(client: "AppRTC Android's origin", path: "/signal", origin: "https://www.google.com"),
            ClientHeaders(client: "AppRTC Android's origin", path: "/r", origin: "https://www.google.com"),
            ClientHeaders(client: "AppRTC Android's origin", path: "/socket.io/", origin: "https://appr.tc"),
        ]

    /// The headers of a request to `host`.
    func fields(host: String) -> HTTPFields {
        var fields: HTTPFields = [:]
        fields[.origin] = origin?.replacing("HOST", with: host)
        fields[.userAgent] = userAgent
        fields[.referer] = referer
        if isWebSocket { fields[.secWebSocketKey] = "AAAAAAAAAAAAAAAAAAAAAA==" }
        return fields
    }
}
