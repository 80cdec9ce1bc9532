import ArgumentParser
import AsyncHTTPClient
import Basics
import Call
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "Looks at the nodes of a cluster.", subcommands: [Status.self])

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the nodes, and what each believes.",
            discussion:
                "The exit status is 0 if every node answers, is sure of its lease and sees the same nodes, else 1.")

        @Option(help: ArgumentHelp("The server that is asked: any node.", valueName: "url"))
        var url = "http://localhost:8080"
        @Option(
            help: ArgumentHelp(
                "The admin token (auth.adminToken); without it that of the environment, TESSERA_AUTH_ADMINTOKEN."))
        var token: String?

        func run() async throws {
            let status: ClusterStatus
            do { status = try await ask() } catch let failure as ClusterFailure {
                printError(failure.what)
                throw ExitCode(1)
            }
            for line in status.lines { print(line) }
            if !status.agreed { throw ExitCode(1) }
        }

        /// What the library says of its errors is for programmers.
        private static func words(_ error: any Error, _ base: String) -> String {
            guard let url = URLComponents(string: base), let host = url.host, !(error is HTTPClientError) else {
                return "\(base) does not answer"
            }
            let isSecure = url.scheme == "https"
            let port = url.port ?? (isSecure ? 443 : 80)
            return ConnectionFault(error, host: host, port: port, isSecure: isSecure).description
        }

        /// More than a thousand nodes' lines.
        private static let answerBytes = 4 << 20

        private func ask() async throws -> ClusterStatus {
            let base = url.hasSuffix("/") ? String(url.dropLast()) : url
            var request = HTTPClientRequest(url: base + "/api/cluster")
            let token = token ?? ProcessInfo.processInfo.environment["TESSERA_AUTH_ADMINTOKEN"] ?? ""
            if !token.isEmpty { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
            // The certificate of a server on this machine is often one that it has signed itself.
            let host = URL(string: base)?.host ?? ""
            let isHere = ["localhost", "127.0.0.1", "::1"].contains(host)
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton,
                configuration: HTTPClient.Configuration(
                    certificateVerification: isHere ? .none : .fullVerification, redirectConfiguration: .disallow))
            let answer: (status: HTTPResponseStatus, body: ByteBuffer)
            do {
                let response = try await client.execute(request, timeout: .seconds(5))
                answer = (response.status, try await response.body.collect(upTo: Self.answerBytes))
                try await client.shutdown()
            } catch {
                try? await client.shutdown()
                throw ClusterFailure("\(Self.words(error, base)); name a running node with --url")
            }
            let body = Data(answer.body.readableBytesView)
            switch answer.status {
            case .ok: break
            case .unauthorized, .forbidden:
                throw ClusterFailure("\(base) wants its admin token: --token, or TESSERA_AUTH_ADMINTOKEN")
            default:
                let message = (try? JSONDecoder().decode(ClusterFailure.Answer.self, from: body))?.error.message
                throw ClusterFailure("\(base) answers \(answer.status.code): \(message ?? "it may be no Tessera")")
            }
            guard let status = try? JSONDecoder().decode(ClusterStatus.self, from: body) else {
                throw ClusterFailure("the answer of \(base) cannot be read; it may be of another version")
            }
            return status
        }
    }
}

private struct ClusterFailure: Error {
    struct Answer: Decodable {
        struct Fault: Decodable { var message: String }
        var error: Fault
    }

    var what: String
    init(_ what: String) { self.what = what }
}

/// The answer of `GET /api/cluster`.
private struct ClusterStatus: Decodable {
    struct Node: Decodable {
        var id: String
        var zone: String
        var version: String
        var draining: Bool
        var used: Double
        var full: Bool
        var rooms: Int
        var seats: Int
        var answers: Bool
        var fault: String?
        var state: String?
        var storeFault: String?
        var leaseMargin: Double?
        var following: Bool?
        var sees: [String]?
    }

    var node: String
    var agreed: Bool
    var nodes: [Node]

    /// A table, and a line that sums it up.
    var lines: [String] {
        let heads = ["NODE", "ZONE", "VERSION", "STATE", "LEASE", "LOAD", "ROOMS", "SEATS", "DRAINING", "SEES"]
        let rows = [heads] + nodes.map(row)
        let widths = heads.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let table = rows.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
                .trimmingWhitespace()
        }
        let sum =
            agreed
            ? "\(nodes.count) nodes, and all agree (asked: \(node))"
            : "\(nodes.count) nodes, which do not agree or are not sure (asked: \(node))"
        let faults = nodes.compactMap { node in
            node.fault.map { "\(node.id): \($0)" } ?? node.storeFault.map { "\(node.id): etcd takes no writes: \($0)" }
        }
        return table + [""] + faults + [sum]
    }

    private func row(_ node: Node) -> [String] {
        let load = "\(Int(saturating: (node.used * 100).rounded())) %" + (node.full ? ", full" : "")
        let ids = nodes.map(\.id)
        let missing = node.sees.map { sees in ids.filter { !sees.contains($0) } } ?? []
        let added = node.sees?.filter { !ids.contains($0) } ?? []
        let differences = missing.map { "not \($0)" } + added.map { "also \($0)" }
        var state = node.answers ? node.state ?? "?" : "does not answer"
        if node.following == false { state += ", blind" }
        return [
            node.id, node.zone.isEmpty ? "-" : node.zone, node.version, state,
            node.leaseMargin.map { String($0, decimals: 1) + " s" } ?? "-", load, "\(node.rooms)", "\(node.seats)",
            node.draining ? "yes" : "-",
            node.answers ? (differences.isEmpty ? "all" : differences.joined(separator: ", ")) : "-",
        ]
    }
}
