import Foundation
import Glibc
import TestSupport

/// Three members of etcd on loopback ports of their own, with their data in memory.
final class EtcdMembers {
    static let program = "/usr/bin/etcd"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let endpoints: [String]
    private let folder: String
    private var processes: [Process?] = [nil, nil, nil]
    private let ports: [UInt16]

    init() throws {
        folder = "/dev/shm/tessera-etcd-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        ports = LoopbackSocket.freePorts(6)
        endpoints = ports.prefix(3).map { "http://127.0.0.1:\($0)" }
    }

    deinit {
        for index in processes.indices { kill(index) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts a member, with the data that it left.
    func start(_ index: Int) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        let peers = (0..<3).map { "n\($0)=http://127.0.0.1:\(ports[3 + $0])" }.joined(separator: ",")
        let peer = "http://127.0.0.1:\(ports[3 + index])"
        process.arguments = [
            "--name", "n\(index)", "--data-dir", "\(folder)/\(index)", "--initial-cluster", peers,
            "--initial-advertise-peer-urls", peer, "--listen-peer-urls", peer, "--listen-client-urls",
            endpoints[index], "--advertise-client-urls", endpoints[index], "--heartbeat-interval", "50",
            "--election-timeout", "500", "--log-level", "error",
        ]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        process.qualityOfService = .default
        try process.run()
        processes[index] = process
    }

    func kill(_ index: Int) {
        guard let process = processes[index] else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        processes[index] = nil
    }
}
