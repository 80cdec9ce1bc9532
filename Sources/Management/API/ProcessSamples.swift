package import Basics
package import FoundationEssentials
import Glibc

/// The metrics of the process, with the names that Prometheus' own clients use, and what it is.
package struct ProcessSamples: Sendable {
    package let version: String
    /// The end of the certificate for HTTPS; nil: there is none.
    package let certificateExpiry: Date?
    private let start: Date

    package init(version: String, certificateExpiry: Date?, start: Date = Date()) {
        self.version = version
        self.certificateExpiry = certificateExpiry
        self.start = start
    }

    package var samples: [MetricSample] {
        var samples = [
            MetricSample(
                "tessera_build_info", "1; the version is the label.", .gauge, 1, labels: ["version": version]),
            MetricSample(
                "process_start_time_seconds", "When the server started, in Unix time.", .gauge,
                start.timeIntervalSince1970.rounded()),
        ]
        // Microseconds of all threads (clock(3)).
        let processorTime = clock()
        if processorTime >= 0 {
            samples.append(
                MetricSample(
                    "process_cpu_seconds_total", "Processor time of the process.", .counter,
                    Double(processorTime) / 1e6))
        }
        // The second field of statm is the resident pages (proc(5)).
        if let pages = Self.fields("/proc/self/statm").dropFirst().first.flatMap({ Double($0) }) {
            samples.append(
                MetricSample(
                    "process_resident_memory_bytes", "Memory of the process.", .gauge,
                    pages * Double(sysconf(Int32(_SC_PAGESIZE)))))
        }
        var limit = rlimit()
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        {
            samples += [
                MetricSample("process_open_fds", "Open files and sockets.", .gauge, Double(open)),
                MetricSample(
                    "process_max_fds", "The most of them that the system allows.", .gauge, Double(limit.rlim_cur)),
            ]
        }
        if let certificateExpiry {
            samples.append(
                MetricSample(
                    "tessera_certificate_expiry_timestamp_seconds",
                    "The end of the certificate for HTTPS, in Unix time.", .gauge,
                    certificateExpiry.timeIntervalSince1970.rounded()))
        }
        return samples
    }

    private static func fields(_ path: String) -> [Substring] {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ") ?? []
    }
}
