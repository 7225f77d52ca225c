//! How much memory this process may use: what the machine has, or what a container allows where that is less.

use std::path::Path;

/// Where control groups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes of memory that this process may use, the kernel's cache of its files included; none where the system does not tell.
pub fn usable_memory() -> u64 {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = group_limit(&groups, Path::new(GROUPS)).unwrap_or(u64::MAX);
    limit.min(installed())
}

fn installed() -> u64 {
    #[cfg(target_os = "linux")]
    let bytes = {
        let info = rustix::system::sysinfo();
        u64::from(info.mem_unit).saturating_mul(info.totalram)
    };
    #[cfg(not(target_os = "linux"))]
    let bytes = 0;
    bytes
}

/// The least limit of the groups that a process is in, and of those around them. `groups` is the text of `/proc/PID/cgroup`: a
/// line `ID:CONTROLLERS:PATH` a hierarchy. In a container the path may be that outside of it: then only the group that is mounted at
/// the top is found, which is the container's.
fn group_limit(groups: &str, mounted: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let (top, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => (mounted.join("memory"), "memory.limit_in_bytes"),
            _ => return Vec::new(),
        };
        // A path cannot leave the mounted tree.
        let path = Path::new(path.trim_start_matches('/'));
        path.ancestors().filter_map(|group| limit_in(&top.join(group).join(file))).collect()
    });
    limits.min()
}

/// The limit in a file; none where there is none, which the newer form calls `max`.
fn limit_in(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path, file: &str, text: &str) {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join(file), text).unwrap();
    }

    #[test]
    fn the_least_limit_on_the_way_to_the_top_counts() {
        let mounted = tempfile::tempdir().unwrap();
        let top = mounted.path();
        let newer = "0::/system/node\n";
        assert_eq!(group_limit(newer, top), None);
        write(&top.join("system/node"), "memory.max", "max\n");
        assert_eq!(group_limit(newer, top), None);
        write(&top.join("system"), "memory.max", "3000\n");
        write(&top.join("other"), "memory.max", "1\n");
        assert_eq!(group_limit(newer, top), Some(3000));
        write(&top.join("system/node"), "memory.max", "2000\n");
        assert_eq!(group_limit(newer, top), Some(2000));

        let older = "9:name=systemd:/\n4:cpu,memory:/docker/7\n0::/\n";
        assert_eq!(group_limit(older, top), None);
        // In a container: the path is the one outside.
        write(&top.join("memory"), "memory.limit_in_bytes", "5000\n");
        assert_eq!(group_limit(older, top), Some(5000));
        write(&top.join("memory/docker/7"), "memory.limit_in_bytes", "4000\n");
        assert_eq!(group_limit(older, top), Some(4000));
    }

    #[test]
    fn what_the_kernel_says_is_read() {
        assert!(usable_memory() <= installed());
        assert_eq!(group_limit("nonsense\n::\n1:memory\n", Path::new("/nowhere")), None);
    }
}
