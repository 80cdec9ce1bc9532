import Basics
import Conference
import FoundationEssentials
import NIOCore
import Recording
import RoomMedia
import Streaming
import WebServer

/// One key: its path, its allowed values, and the property that takes its value.
package struct ConfigurationKey: Sendable {
    let path: String
    let allowed: String
    let isList: Bool
    /// Its value is never printed.
    let isSecret: Bool
    /// See `ConfigurationRule.explain`.
    let explain: @Sendable (RawSetting) -> String?
    /// Returns false and leaves the configuration unchanged if the value is not allowed.
    let apply: @Sendable (RawSetting, inout TesseraConfiguration) -> Bool

    init<Value: Sendable>(
        _ path: String, _ place: any WritableKeyPath<TesseraConfiguration, Value> & Sendable,
        _ rule: ConfigurationRule<Value>,
        secret: Bool = false
    ) {
        self.path = path
        allowed = rule.allowed
        isList = rule.isList
        isSecret = secret
        explain = rule.explain
        apply = { raw, configuration in
            if raw == .null { return true }
            guard let value = rule.read(raw) else { return false }
            configuration[keyPath: place] = value
            return true
        }
    }

    /// `rooms.maxParticipants` is `TESSERA_ROOMS_MAXPARTICIPANTS`.
    var environmentName: String {
        "TESSERA_" + path.uppercased().split(separator: ".").joined(separator: "_")
    }
}

/// All keys of the settings.
package enum ConfigurationSchema {
    package static let keys: [ConfigurationKey] = serverKeys + clusterKeys

    private static let serverKeys: [ConfigurationKey] = [
        ConfigurationKey("http.listen", \.http.listen, endpoint),
        ConfigurationKey("http.tls.certificate", \.http.tls.certificate, .text("the path of a PEM file")),
        ConfigurationKey("http.tls.key", \.http.tls.key, .text("the path of a PEM file")),
        ConfigurationKey("http.tls.selfSigned", \.http.tls.selfSigned, .bool),
        ConfigurationKey(
            "http.allowedOrigins", \.http.allowedOrigins,
            .list(
                of: origin { WebOrigin(sent: $0) },
                "a list of origins such as https://meet.example (scheme, host, and a port where it needs one), or *",
                count: 0...256)),
        ConfigurationKey(
            "http.frameAncestors", \.http.frameAncestors,
            .list(
                of: origin { WebOrigin($0.hasSuffix("/") ? $0.dropLast() : $0[...]) },
                "a list of origins such as https://portal.example, or *", count: 0...64)),
        ConfigurationKey(
            "http.hosts", \.http.hosts,
            .list(of: host, "a list of host names such as meet.example, or *", count: 0...256)),
        ConfigurationKey("http.publicURL", \.http.publicURL, publicURL),
        ConfigurationKey(
            "http.trustedProxies", \.http.trustedProxies,
            .list(of: network, "a list of addresses and networks such as 127.0.0.1 or 10.0.0.0/8", count: 0...64)),
        ConfigurationKey("media.listen", \.media.listen, address),
        ConfigurationKey(
            "media.announce", \.media.announce,
            .list(of: ip, "a list of IP addresses such as 198.51.100.7", count: 0...16)),
        ConfigurationKey("media.tcp", \.media.tcp, .bool),
        ConfigurationKey("media.loops", \.media.loops, .optional(.integer(1...64))),
        ConfigurationKey(
            "ice.stun", \.ice.stun,
            .list(of: url("stun:", "stuns:"), "a list of URLs such as stun:stun.example:3478", count: 0...16)),
        ConfigurationKey(
            "ice.turn.urls", \.ice.turn.urls,
            .list(
                of: url("turn:", "turns:"), "a list of URLs such as turn:turn.example:3478?transport=udp", count: 0...16
            )),
        ConfigurationKey("ice.turn.secret", \.ice.turn.secret, .text("text"), secret: true),
        ConfigurationKey(
            "ice.turn.ttl", \.ice.turn.ttl, .duration(.seconds(60)...(.seconds(7 * 86400)), "from 1m to 168h")),
        ConfigurationKey(
            "rooms.layout", \.rooms.settings.layout, .text("the name of a layout", where: LayoutDocument.isName)),
        ConfigurationKey("rooms.onPresent", \.rooms.settings.onPresent, onPresent),
        ConfigurationKey("rooms.width", \.rooms.settings.width, .integer(RoomSettings.allowed.width, even: true)),
        ConfigurationKey("rooms.height", \.rooms.settings.height, .integer(RoomSettings.allowed.height, even: true)),
        ConfigurationKey(
            "rooms.framesPerSecond", \.rooms.settings.framesPerSecond, .integer(RoomSettings.allowed.framesPerSecond)),
        ConfigurationKey(
            "rooms.maxParticipants", \.rooms.settings.maxParticipants, .integer(RoomSettings.allowed.maxParticipants)),
        ConfigurationKey(
            "rooms.maxViewers", \.rooms.settings.maxViewers, .integer(RoomSettings.allowed.maxViewers)),
        ConfigurationKey("rooms.hls", \.rooms.settings.hls, .bool),
        ConfigurationKey("rooms.admit", \.rooms.settings.admit, .choice),
        ConfigurationKey(
            "rooms.emptyTimeout", \.rooms.emptyTimeout, .duration(.zero...(.seconds(86400)), "at most 24h")),
        ConfigurationKey("rooms.create", \.rooms.create, .choice),
        ConfigurationKey("rooms.views", \.rooms.settings.views, .views),
        ConfigurationKey("rooms.presets", \.rooms.presets, .presets, secret: true),
        ConfigurationKey("rooms.withoutSelf", \.rooms.settings.withoutSelf, .bool),
        ConfigurationKey("rooms.passthrough", \.rooms.settings.passthrough, .choice),
        ConfigurationKey(
            "rooms.transition", \.rooms.settings.transition, .duration(.zero...(.seconds(2)), "at most 2s")),
        ConfigurationKey(
            "video.codecs", \.video.codecs,
            .list(of: .choice, "a list of h264, vp8 and av1, the preferred one first", count: 1...3)),
        ConfigurationKey(
            "video.renditions", \.video.renditions,
            .list(
                of: rendition,
                "a list of {height: even, \(RoomSettings.allowed.height.lowerBound) to \(RoomSettings.allowed.height.upperBound), bitrate: 16k to 50M, "
                    + "framesPerSecond: \(RoomSettings.allowed.framesPerSecond.lowerBound) to \(RoomSettings.allowed.framesPerSecond.upperBound) or left out}",
                count: 1...8)),
        ConfigurationKey("audio.bitrate", \.audio.mix.bitRate, .bitRate(.kilobits(6)...(.kilobits(510)))),
        ConfigurationKey("audio.maxSpeakers", \.audio.mix.maxSpeakers, .integer(1...100)),
        ConfigurationKey("audio.level", \.audio.mix.level, .choice),
        ConfigurationKey("audio.threads", \.audio.threads, .optional(.integer(1...64))),
        ConfigurationKey("recording.directory", \.recording.files.directory, path),
        ConfigurationKey("recording.start", \.recording.files.start, .choice),
        ConfigurationKey(
            "recording.segment", \.recording.files.segment,
            .duration(.seconds(10)...(.seconds(7 * 86400)), orZero: true, "at least 10s, or 0s for one file")),
        ConfigurationKey(
            "recording.maxLength", \.recording.files.maxLength,
            .duration(.seconds(10)...(.seconds(7 * 86400)), orZero: true, "at least 10s, or 0s for no limit")),
        ConfigurationKey("recording.maxSize", \.recording.files.maxSize, .byteCount(0...(1 << 50))),
        ConfigurationKey(
            "recording.preRoll", \.recording.files.preRoll,
            .duration(.seconds(3)...PreRoll.maxLength, orZero: true, "3s to 90s, or 0s for none")),
        ConfigurationKey("recording.container", \.recording.container, .choice),
        ConfigurationKey("recording.audio", \.recording.files.audio, .choice),
        ConfigurationKey("recording.minimumFree", \.recording.files.minimumFree, .byteCount(0...(1 << 50))),
        ConfigurationKey("recording.tracks", \.recording.files.tracks, .bool),
        ConfigurationKey("recording.perRoom", \.recording.files.perRoom, .integer(1...64)),
        ConfigurationKey("recording.startsPerMinute", \.recording.files.startsPerMinute, .integer(1...1000)),
        ConfigurationKey("recording.onFinished", \.recording.files.onFinished, deliveryCommand),
        ConfigurationKey(
            "recording.deliveryLimit", \.recording.files.deliveryLimit,
            .duration(.seconds(10)...(.seconds(24 * 3600)), "from 10s to 24h")),
        ConfigurationKey(
            "recording.retryFor", \.recording.files.retryFor,
            .duration(.seconds(60)...(.seconds(30 * 86400)), orZero: true, "from 1m to 30d, or 0s to run once")),
        ConfigurationKey(
            "recording.keep", \.recording.files.keep,
            .orNone(.duration(.seconds(3600)...(.seconds(3650 * 86400)), orZero: true, "from 1h to 3650d"), .zero)),
        ConfigurationKey(
            "recording.maxBytes", \.recording.files.maxBytes, .orNone(.byteCount(0...(1 << 50)), 0)),
        ConfigurationKey(
            "streams.schemes", \.streams.schemes, .list(of: .choice, "a list of rtmp, rtmps and srt", count: 0...3)),
        ConfigurationKey(
            "streams.hosts", \.streams.hosts,
            .list(
                of: hostPattern, "a list of hosts such as live.example, *.live.example, 10.1.0.0/16 or *",
                count: 0...256)),
        ConfigurationKey(
            "streams.keyframeInterval", \.streams.keyframeInterval,
            .duration(StreamRequest.keyframeIntervals, "from 500ms to 10s")),
        ConfigurationKey("streams.minimumFrameRate", \.streams.minimumFrameRate, .integer(1...60)),
        ConfigurationKey("streams.maxPerRoom", \.streams.maxPerRoom, .integer(0...16)),
        ConfigurationKey(
            "streams.retryFor", \.streams.retryFor, .duration(.zero...(.seconds(86400)), "at most 24h")),
        ConfigurationKey("streams.authorities", \.streams.authorities, .text("the path of a PEM file")),
        ConfigurationKey("metrics.rooms", \.metrics.rooms, .integer(0...1000)),
        ConfigurationKey(
            "inputs.schemes", \.inputs.schemes,
            .list(of: .choice, "a list of srt, rtmp, rtsp, http, https and file", count: 0...6)),
        ConfigurationKey(
            "inputs.hosts", \.inputs.hosts,
            .list(
                of: hostPattern, "a list of hosts such as camera.example, *.example, 10.1.0.0/16 or *", count: 0...256)),
        ConfigurationKey(
            "inputs.directory", \.inputs.directory, .text("the path of a folder, or \"\"") { !$0.utf8.contains(0) }),
        ConfigurationKey("inputs.maxPerRoom", \.inputs.maxPerRoom, .integer(0...64)),
        ConfigurationKey(
            "inputs.maxPixels", \.inputs.maxPixels, .integer(10_000...ConferenceConfiguration.Inputs.mostPixels)),
        ConfigurationKey("inputs.retryFor", \.inputs.retryFor, .duration(.zero...(.seconds(86400)), "at most 24h")),
        ConfigurationKey("auth.mode", \.auth.mode, .choice),
        ConfigurationKey("auth.secret", \.auth.secret, .text("text"), secret: true),
        ConfigurationKey("auth.adminToken", \.auth.adminToken, .text("text"), secret: true),
        ConfigurationKey("auth.issuer", \.auth.issuer, .text("text")),
        ConfigurationKey("auth.audience", \.auth.audience, .text("text")),
        ConfigurationKey("layouts.directory", \.layouts.directory, path),
        ConfigurationKey("doors.appRTC", \.doors.appRTC, .bool),
        ConfigurationKey("doors.webrtcDemo", \.doors.webrtcDemo, .bool),
        ConfigurationKey("doors.webrtcDemoRoom", \.doors.webrtcDemoRoom, .text("a room's id", where: Names.isRoom)),
        ConfigurationKey("doors.socketIO", \.doors.socketIO, .bool),
        ConfigurationKey("doors.rawTCP", \.doors.rawTCP, endpointOrNone),
        ConfigurationKey(
            "doors.rawTCPRoom", \.doors.rawTCPRoom, .text("a room's id, or \"\"") { $0.isEmpty || Names.isRoom($0) }),
        ConfigurationKey("doors.legacyDTLS", \.doors.legacyDTLS, .bool),
        ConfigurationKey("doors.directory", \.doors.directory, path),
        ConfigurationKey("doors.pictureBytes", \.doors.pictureBytes, .byteCount(0...(1 << 50))),
        ConfigurationKey(
            "events.directory", \.events.directory, .text("the path of a folder, or \"\"") { !$0.utf8.contains(0) }),
        ConfigurationKey("webhooks", \.webhooks, .webhooks, secret: true),
        ConfigurationKey("tracing.otlp", \.tracing.otlp, collector),
        ConfigurationKey("limits.joinsPerSecondPerAddress", \.limits.joinsPerSecondPerAddress, .integer(1...10_000)),
        ConfigurationKey(
            "limits.requestsPerSecondPerAddress", \.limits.requestsPerSecondPerAddress, .integer(1...100_000)),
        ConfigurationKey("limits.messageBytes", \.limits.messageBytes, .integer(1024...16_777_216)),
        ConfigurationKey("limits.sdpBytes", \.limits.sdpBytes, .integer(1024...1_048_576)),
        ConfigurationKey("limits.connections", \.limits.connections, .integer(16...1_000_000)),
        ConfigurationKey("limits.connectionsPerAddress", \.limits.connectionsPerAddress, .integer(1...1_000_000)),
        ConfigurationKey("limits.rooms", \.limits.conference.rooms, .integer(1...100_000)),
        ConfigurationKey("limits.roomsPerAddress", \.limits.conference.roomsPerAddress, .integer(1...100_000)),
        ConfigurationKey("limits.seats", \.limits.conference.seats, .integer(1...100_000)),
        ConfigurationKey("limits.seatsPerAddress", \.limits.conference.seatsPerAddress, .integer(1...100_000)),
        ConfigurationKey("limits.halfOpen", \.limits.conference.halfOpen, .integer(1...100_000)),
        ConfigurationKey("limits.halfOpenPerAddress", \.limits.conference.halfOpenPerAddress, .integer(1...100_000)),
        ConfigurationKey("limits.waiting", \.limits.conference.waiting, .integer(1...100_000)),
        ConfigurationKey("limits.waitingPerAddress", \.limits.conference.waitingPerAddress, .integer(1...100_000)),
        ConfigurationKey("limits.viewsPerRoom", \.limits.conference.viewsPerRoom, .integer(0...1000)),
        ConfigurationKey("limits.mediaConnections", \.limits.conference.mediaConnections, .integer(1...100_000)),
        ConfigurationKey(
            "limits.mediaConnectionsPerAddress", \.limits.conference.mediaConnectionsPerAddress, .integer(1...100_000)),
        ConfigurationKey("limits.loopShare", \.limits.conference.loopShare, .fraction(0.01...1)),
        ConfigurationKey(
            "limits.decodedPixelsPerSecond", \.limits.conference.decodedPixelsPerSecond,
            .integer(1_000_000...100_000_000_000)),
        ConfigurationKey(
            "limits.decodedPixelsPerSecondInAll", \.limits.conference.decodedPixelsPerSecondInAll,
            .integer(1_000_000...100_000_000_000)),
    ]

    package static let byPath = Dictionary(uniqueKeysWithValues: keys.map { ($0.path, $0) })
    static let byEnvironmentName = Dictionary(uniqueKeysWithValues: keys.map { ($0.environmentName, $0) })

    /// Whether keys begin with `path.`, so that its value must be a mapping.
    static func isSection(_ path: String) -> Bool { keys.contains { $0.path.hasPrefix(path + ".") } }

    static let onPresent = ConfigurationRule<OnPresent>(allowed: "the name of a layout, or off") { raw in
        guard case .scalar(let text, _) = raw else { return nil }
        return OnPresent(text)
    }

    static let endpoint = ConfigurationRule<Endpoint>(allowed: "HOST:PORT such as 0.0.0.0:8080 or [::]:8080") {
        raw in
        guard case .scalar(let text, _) = raw else { return nil }
        return Endpoint(text)
    }

    static let endpointOrNone = ConfigurationRule<Endpoint?>(allowed: "HOST:PORT such as 0.0.0.0:8000, or \"\"") {
        raw in
        guard case .scalar(let text, _) = raw else { return nil }
        return text.isEmpty ? .some(nil) : Endpoint(text).map { .some($0) }
    }

    private static let address = ConfigurationRule<Basics.SocketAddress>(
        allowed: "HOST:PORT of this machine such as 0.0.0.0:50000 or [::]:50000"
    ) { raw in
        guard case .scalar(let text, _) = raw else { return nil }
        if let address = Basics.SocketAddress(text) { return address }
        // A name is resolved by the system now.
        guard let named = Endpoint(text),
            let found = try? NIOCore.SocketAddress.makeAddressResolvingHost(named.host, port: Int(named.port)),
            let ip = found.ipAddress.flatMap({ IPAddress($0) })
        else { return nil }
        return Basics.SocketAddress(ip, port: named.port)
    }

    private static let ip = ConfigurationRule<IPAddress>(allowed: "an IP address") { raw in
        guard case .scalar(let text, _) = raw, let ip = IPAddress(text), !ip.isUnspecified else { return nil }
        return ip
    }

    private static let path = ConfigurationRule<String>.text("the path of a folder") {
        !$0.isEmpty && !$0.utf8.contains(0)
    }

    /// The program of `recording.onFinished` with its arguments, up to a command line of 64 KiB.
    private static let deliveryCommand = ConfigurationRule<[String]>(
        allowed:
            "a list of a program and its arguments such as [rclone, copyto, \"{file}\", \"remote:bucket/{id}.mp4\"]",
        isList: true,
        explain: { raw in DeliveryCommand.fault(of: words(raw) ?? []) },
        read: { raw in
            guard let words = words(raw), words.count <= 256, words.reduce(0, { $0 + $1.utf8.count }) <= 64 << 10,
                !words.contains(where: { $0.utf8.contains(0) }), DeliveryCommand.fault(of: words) == nil
            else { return nil }
            return words
        })

    private static func words(_ raw: RawSetting) -> [String]? {
        guard case .list(let items) = raw else { return nil }
        let words = items.compactMap { item -> String? in
            guard case .scalar(let text, _) = item else { return nil }
            return text
        }
        return words.count == items.count ? words : nil
    }

    /// `*`, or an origin as `read` understands it, which becomes the form of the `Origin` header.
    private static func origin(_ read: @escaping @Sendable (String) -> WebOrigin?) -> ConfigurationRule<String> {
        ConfigurationRule(allowed: "an origin") { raw in
            guard case .scalar(let text, _) = raw else { return nil }
            return text == "*" ? text : read(text)?.description
        }
    }

    private static let host = ConfigurationRule<String>(allowed: "a host name such as meet.example") { raw in
        guard case .scalar(let text, _) = raw else { return nil }
        if text == "*" { return text }
        guard let (host, port) = WebOrigin.split(text), port == nil, IPAddress(host) == nil, !host.contains(":") else {
            return nil
        }
        return host
    }

    private static let hostPattern = ConfigurationRule<HostPattern>(allowed: "a host, an address or a network") { raw in
        guard case .scalar(let text, _) = raw else { return nil }
        return HostPattern(text)
    }

    private static let publicURL = ConfigurationRule<String>(
        allowed: "https://HOST or http://HOST, with a port where it needs one, or \"\""
    ) { raw in
        guard case .scalar(let text, _) = raw else { return nil }
        let origin = text.hasSuffix("/") ? String(text.dropLast()) : text
        return text.isEmpty || WebOrigin(origin) != nil ? origin : nil
    }

    private static let network = ConfigurationRule<IPNetwork>(allowed: "an address or a network") { raw in
        guard case .scalar(let text, _) = raw else { return nil }
        return IPNetwork(text)
    }

    private static func url(_ schemes: String...) -> ConfigurationRule<String> {
        .text("a URL") { text in
            schemes.contains { text.hasPrefix($0) && text.utf8.count > $0.utf8.count }
                && text.utf8.count <= 255
                && text.utf8.allSatisfy { (33...126).contains($0) && $0 != 34 && $0 != 60 && $0 != 62 }
        }
    }

    private static let collector = ConfigurationRule<String>(
        allowed: "a URL such as http://localhost:4318/v1/traces, or \"\""
    ) { raw in
        if case .scalar("", _) = raw { return "" }
        guard let text = url("http://", "https://").read(raw), let parts = URLComponents(string: text),
            parts.host?.isEmpty == false, Endpoint.ports.contains(parts.port ?? 443)
        else { return nil }
        return text
    }

    static let rendition = ConfigurationRule<TesseraConfiguration.Rendition>(allowed: "a rendition") {
        raw in
        guard case .map(let entries) = raw else { return nil }
        let height = ConfigurationRule<Int>.integer(RoomSettings.allowed.height, even: true)
        let rates = ViewSettings.bitsPerSecond
        let bitrate = ConfigurationRule<BitRate>.bitRate(
            BitRate(bitsPerSecond: rates.lowerBound)...BitRate(bitsPerSecond: rates.upperBound))
        let rate = ConfigurationRule<Int>.integer(RoomSettings.allowed.framesPerSecond)
        var result = TesseraConfiguration.Rendition(height: 0, framesPerSecond: nil, bitRate: .zero)
        for entry in entries {
            switch entry.key {
            case "height": result.height = height.read(entry.value) ?? -1
            case "bitrate": result.bitRate = bitrate.read(entry.value) ?? .zero
            case "framesPerSecond": result.framesPerSecond = rate.read(entry.value) ?? -1
            default: return nil
            }
        }
        return result.height > 0 && result.bitRate > .zero && result.framesPerSecond != -1 ? result : nil
    }
}
