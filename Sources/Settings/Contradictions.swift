import Basics
import Cluster
import Conference
import RoomMedia

extension TesseraConfiguration {
    /// The faults of values that are allowed one by one but not together.
    func contradictions() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        func fault(_ key: String, _ value: String? = nil, _ what: String) {
            faults.append(ConfigurationFault(key: key, value: value, what: what))
        }
        if http.tls.certificate.isEmpty != http.tls.key.isEmpty {
            let missing = http.tls.certificate.isEmpty ? "http.tls.certificate" : "http.tls.key"
            fault(missing, "\"\"", "a certificate and its key go together; name both PEM files, or neither")
        }
        if http.tls.selfSigned, !http.tls.certificate.isEmpty {
            fault("http.tls.selfSigned", "true", "allowed only without http.tls.certificate; leave one of them out")
        }
        if auth.mode == .token, auth.secret.isEmpty {
            fault("auth.secret", "\"\"", "auth.mode token needs the secret that signs the tokens (HS256)")
        }
        // RFC 7518 §3.2: a key of HS256 has at least the hash's 256 bits. The holder of one token can search for a
        // shorter key offline.
        if (1..<TesseraConfiguration.minimumSecretBytes).contains(auth.secret.utf8.count) {
            fault(
                "auth.secret", nil,
                "needs at least \(TesseraConfiguration.minimumSecretBytes) bytes; `openssl rand -base64 32` makes a good one"
            )
        }
        if (1..<TesseraConfiguration.minimumAdminTokenBytes).contains(auth.adminToken.utf8.count) {
            fault(
                "auth.adminToken", nil,
                "needs at least \(TesseraConfiguration.minimumAdminTokenBytes) bytes; `openssl rand -hex 16` makes a good one"
            )
        }
        for (key, value, total) in perAddress where value > total {
            fault(key + "PerAddress", "\(value)", "one address cannot have more than all together (\(key): \(total))")
        }
        if !ice.turn.urls.isEmpty, ice.turn.secret.isEmpty {
            fault(
                "ice.turn.secret", "\"\"",
                "ice.turn.urls needs the secret shared with the TURN server (coturn's static-auth-secret)")
        }
        if Set(video.codecs).count != video.codecs.count {
            fault(
                "video.codecs", video.codecs.map(\.rawValue).joined(separator: ", "), "each codec is named at most once"
            )
        }
        if video.codecs == [.av1] {
            fault(
                "video.codecs", VideoCodec.av1.rawValue,
                "av1 is sent and not received: name h264 or vp8 beside it, which clients send")
        }
        for (index, rendition) in video.renditions.enumerated()
        where video.renditions[..<index].contains(where: {
            $0.height == rendition.height && $0.framesPerSecond == rendition.framesPerSecond
        }) {
            fault(
                "video.renditions", "height: \(rendition.height)",
                "two renditions have the same height and rate; each must differ")
        }
        faults += clusterContradictions()
        if media.tcp, media.listen.port != 0, media.listen.port == http.listen.port {
            fault(
                "media.listen", media.listen.description,
                "http.listen has this TCP port already; name another, or set media.tcp: false")
        }
        if let rawTCP = doors.rawTCP, rawTCP.port != 0, rawTCP.port == http.listen.port {
            fault("doors.rawTCP", "\(rawTCP)", "http.listen has this TCP port already; name another")
        }
        return faults
    }

    private static let minimumSecretBytes = 32
    private static let minimumAdminTokenBytes = 16

    /// The changed limits of one address, with their totals. A default that exceeds a lowered total is no
    /// contradiction: the total applies.
    private var perAddress: [(key: String, value: Int, total: Int)] {
        let defaults = Limits()
        let all: [(String, Int, Int, Int)] = [
            ("limits.connections", limits.connectionsPerAddress, defaults.connectionsPerAddress, limits.connections),
            (
                "limits.rooms", limits.conference.roomsPerAddress, defaults.conference.roomsPerAddress,
                limits.conference.rooms
            ),
            (
                "limits.seats", limits.conference.seatsPerAddress, defaults.conference.seatsPerAddress,
                limits.conference.seats
            ),
            (
                "limits.halfOpen", limits.conference.halfOpenPerAddress, defaults.conference.halfOpenPerAddress,
                limits.conference.halfOpen
            ),
            (
                "limits.mediaConnections", limits.conference.mediaConnectionsPerAddress,
                defaults.conference.mediaConnectionsPerAddress,
                limits.conference.mediaConnections
            ),
        ]
        return all.filter { $0.1 != $0.2 }.map { ($0.0, $0.1, $0.3) }
    }
}

extension TesseraConfiguration {
    private func clusterContradictions() -> [ConfigurationFault] {
        guard cluster.isOn else { return [] }
        var faults: [ConfigurationFault] = []
        if cluster.secret.utf8.count < TesseraConfiguration.minimumSecretBytes {
            faults.append(
                ConfigurationFault(
                    key: "cluster.secret", value: nil,
                    what:
                        "a cluster needs one of at least \(TesseraConfiguration.minimumSecretBytes) bytes, the same on every node; `openssl rand -base64 32` makes a good one"
                ))
        }
        // A resume ticket would pass as a join's token, both being HS256.
        if !cluster.secret.isEmpty, cluster.secret == auth.secret {
            faults.append(
                ConfigurationFault(
                    key: "cluster.secret", value: nil,
                    what: "differs from auth.secret; `openssl rand -base64 32` makes another one"))
        }
        if cluster.tls.certificate.isEmpty != cluster.tls.key.isEmpty {
            let missing = cluster.tls.certificate.isEmpty ? "cluster.tls.certificate" : "cluster.tls.key"
            faults.append(
                ConfigurationFault(
                    key: missing, value: "\"\"",
                    what: "a certificate and its key go together; name both PEM files, or neither"))
        }
        if cluster.listen.port != 0, cluster.listen.port == http.listen.port {
            faults.append(
                ConfigurationFault(
                    key: "cluster.listen", value: cluster.listen.description,
                    what: "http.listen has this port already; name another"))
        }
        return faults
    }
}
