import Basics
import Foundation
import Fuzzing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The parts of a request other than its body: its headers, its path, and the headers of a proxy.
enum RequestBodies {
    static let all = [headers, proxies]

    /// Parses the whole input as a range of a file, the codings of an answer, an origin, a token's algorithm and claims, and names.
    private static let headers = FuzzTarget(
        "headers", covers: "headers and paths: ranges, codings, origins, tokens, rooms, names", maximumLength: 8192,
        words: ["bytes=", "http://", "https://", "[::1]", "eyJhbGciOiJIUzI1NiJ9.", "\u{202E}", "\u{200B}", "\u{0301}"],
        seeds: {
            [
                "bytes=0-99", "bytes=-5", "gzip;q=0.5, *;q=0", "https://meet.example:8443", "http://[::1]:80",
                "eyJhbGciOiJIUzI1NiJ9.e30.AAAA",
                #"{"room":"*","name":"n","role":"moderator","sub":"s","exp":2000000000,"nbf":1,"aud":["a"],"iss":"i"}"#,
                "Ann \u{1F469}\u{200D}\u{1F680}",
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let text = String(decoding: input.bytes, as: UTF8.self)
        for size in [0, 1, 1000, Int.max] {
            if case .part(let range) = ByteRange(header: text, size: size),
                range.lowerBound < 0 || range.upperBound >= size
            {
                fatalError("headers: a range outside of its file")
            }
        }
        for available in [[ContentCoding.brotli, .gzip, .identity], [.identity]] {
            guard available.contains(ContentCoding.choose(text, of: available)) else {
                fatalError("headers: a coding that the file does not have")
            }
        }
        _ = OriginPolicy(allowed: [text]).allows(origin: text, hosts: [text, "meet.example"])
        _ = TokenClaims(json: input.bytes)
        _ = RecordingLinks(adminToken: "a", secret: "b").isValid(
            text, id: text, expires: .max, at: Date(timeIntervalSince1970: 0))
        _ = Names.isRoom(text)
        if let name = Names.shown(text), Names.shown(name) != name {
            fatalError("headers: a name that is not what it will be")
        }
        work.weigh()
    }

    /// The client's address, the server's name and its own address, then one header per line.
    private static let proxies = FuzzTarget(
        "proxies", covers: "where a request comes from: Host, X-Forwarded-*, Forwarded", maximumLength: 8192,
        words: [
            "x-forwarded-for: ", "x-forwarded-host: ", "forwarded: ", "for=", "host=", "proto=https",
            "for=\"[2001:db8::1]:4711\"", "127.0.0.1",
            "::ffff:10.0.0.1", "10.0.0.0/8", "localhost", "via: ", "unknown", ", ",
        ],
        seeds: {
            [
                "127.0.0.1\nlocalhost:8080\n127.0.0.1\naccept: */*\n",
                "10.0.0.1\nmeet.example:8443\n10.0.0.9\nx-forwarded-for: 203.0.113.5, 10.0.0.2\nx-forwarded-host: meet.example\n",
                "127.0.0.1\n[::1]:80\n127.0.0.1\nforwarded: for=192.0.2.60;proto=http;host=a, for=\"[2001:db8::1]:4711\"\n",
                "::ffff:10.1.2.3\nevil.example.\nfe80::1%eth0\nvia: 1.1 x\n",
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let lines = String(decoding: input.bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        guard lines.count >= 3 else { return }
        let fields = lines.dropFirst(3).compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (line[..<colon].lowercased(), String(line[line.index(after: colon)...]))
        }
        var settings = TesseraConfiguration.HTTP()
        settings.trustedProxies = [IPNetwork("10.0.0.0/8"), IPNetwork("fd00::/8")].compactMap(\.self)
        let rules = RequestRules(settings, machineName: "machine.example")
        let source = rules.source(remote: lines[0], local: lines[2], host: lines[1], headers: ProxyHeaders(fields))
        let isForwarded = fields.contains {
            $0.name.hasPrefix("x-forwarded-") || $0.name == "forwarded" || $0.name == "via"
        }
        if source.isLocalAdministrator, isForwarded || !lines[0].contains("127.") && !lines[0].contains(":") {
            fatalError("proxies: an administrator from elsewhere")
        }
        _ = rules.hosts.mayBeRebinding(source)
        _ = rules.origins.allows(origin: lines[1], hosts: source.hosts)
        work.weigh()
    }
}
