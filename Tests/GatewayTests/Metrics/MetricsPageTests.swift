import Basics
import Foundation
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Management
@testable import Settings
@testable import WebServer

/// The page of all metrics, and who reads which.
@Suite struct MetricsPageTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../..").standardized

    /// The names in the first column of the page's tables, with their types.
    private static func documented() throws -> [String: String] {
        let page = try String(
            contentsOf: root.appendingPathComponent("Sources/Gateway/Gateway.docc/Metrics.md"), encoding: .utf8)
        var types: [String: String] = [:]
        for line in page.split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, let name = cells[0].wholeMatch(of: /`((?:tessera|process)_\w+)`/) else { continue }
            #expect(types.updateValue(cells[1], forKey: String(name.1)) == nil, "\(name.1) stands there twice")
        }
        return types
    }

    /// The names in the sources' texts.
    private static func exported() throws -> Set<String> {
        let files = FileManager.default.enumerator(
            at: root.appendingPathComponent("Sources"), includingPropertiesForKeys: nil)
        var names: Set<String> = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            guard text.contains("\"tessera_") || text.contains("\"process_") else { continue }
            for match in text.matches(of: /"((?:tessera|process)_[a-z0-9_]+)"/) { names.insert(String(match.1)) }
            #expect(!text.contains(/"(tessera|process)_\w*\\\(/), "\(file.lastPathComponent): write names in full")
        }
        return names
    }

    @Test func `every exported name is in the page, and no other`() throws {
        let (documented, exported) = (try Self.documented(), try Self.exported())
        #expect(exported.count > 100, "the sources were read")
        #expect(exported.subtracting(documented.keys).sorted() == [], "missing in Metrics.md")
        #expect(Set(documented.keys).subtracting(exported).sorted() == [], "in Metrics.md only")
        for (name, type) in documented {
            #expect(["counter", "gauge", "histogram", "summary"].contains(type), "\(name): \(type)")
            #expect((type == "counter") == name.hasSuffix("_total"), "\(name): \(type)")
        }
    }

    @Test func `private rooms have series for the administrator only`() async throws {
        let open = await Host { $0.auth.adminToken = "the administrator" }
        func page(_ headers: HTTPFields, from address: String) async throws -> String {
            String(decoding: try await open.ask(.get, "/metrics", headers, from: address).body, as: UTF8.self)
        }
        let admin: HTTPFields = [.authorization: "Bearer the administrator"]
        #expect(try await page(admin, from: "203.0.113.9").contains(#"room="private""#))
        for address in ["203.0.113.9", "127.0.0.1"] {
            let text = try await page([:], from: address)
            #expect(text.contains("tessera_rooms 1") && !text.contains("private"))
        }
    }

    @Test func `the process has the metrics of Prometheus' own clients`() throws {
        let end = Date(timeIntervalSince1970: 2_000_000_000)
        let samples = ProcessSamples(version: "9.9", certificateExpiry: end).samples
        func value(_ name: String) -> Double? { samples.first { $0.name == name }?.value }
        #expect(try #require(value("process_resident_memory_bytes")) > 1e6)
        #expect(try #require(value("process_cpu_seconds_total")) > 0)
        #expect(try #require(value("process_open_fds")) >= 3)
        #expect(try #require(value("process_max_fds")) >= value("process_open_fds") ?? .infinity)
        #expect(abs(try #require(value("process_start_time_seconds")) - Date().timeIntervalSince1970) < 60)
        #expect(value("tessera_certificate_expiry_timestamp_seconds") == 2_000_000_000)
        #expect(samples.first { $0.name == "tessera_build_info" }?.labels == ["version": "9.9"])
        let none = ProcessSamples(version: "9.9", certificateExpiry: nil).samples
        #expect(!none.contains { $0.name == "tessera_certificate_expiry_timestamp_seconds" })
    }

    @Test func `the end of a certificate is read from it`() throws {
        var settings = TesseraConfiguration().http
        settings.tls.selfSigned = true
        let configuration = try #require(try ServerCertificate.configuration(settings))
        let end = try #require(ServerCertificate.expiry(of: configuration))
        #expect(abs(end.timeIntervalSinceNow - 397 * 86400) < 3600)
    }
}
